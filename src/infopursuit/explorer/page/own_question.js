// @ts-check
// A question that the reader chooses: found by its words, and asked next.

import { button, fill, h, hidden, isolated } from "./dom.js";
import { chosenUpTo } from "./state.js";
/** @import { App } from "./app.js" */
/** @import { Plan } from "./pursuit.js" */

// Questions that a search finds.
const FOUND = 6;

export class OwnQuestion {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Plan | null} */
    this.plan = null;
    this.step = 0;
    this.search = h("input", {
      type: "search",
      id: "ask-search",
      autocomplete: "off",
      on: { input: () => this.showFound() },
    });
    this.found = h("ul", { class: "found" });
    this.element = h(
      "details",
      { class: "ask-own" },
      h("summary", {}, "Ask a question of your choice next"),
      h("label", { for: "ask-search" }, "Search the questions"),
      this.search,
      this.found,
    );
    this.element.addEventListener("toggle", () => this.showFound());
  }

  /** @param {Plan} plan @param {number} step after this many questions it would be asked */
  update(plan, step) {
    this.plan = plan;
    this.step = step;
    this.showFound();
  }

  showFound() {
    const { plan, app } = this;
    if (!plan || !this.element.open) return;
    const { questions } = app.model;
    const asked = new Set(plan.steps.slice(0, this.step).map((each) => each.query));
    const wanted = this.search.value.trim().toLowerCase();
    const open = (/** @type {number} */ query) => !asked.has(query) && !app.state.struck.has(query);
    /** @type {number[]} */
    let found = [];
    if (wanted) {
      for (let query = 0; query < questions.length && found.length < FOUND; query++) {
        if (open(query) && questions[query].toLowerCase().includes(wanted)) found.push(query);
      }
    } else {
      const next = plan.steps[this.step];
      const best = next
        ? [next.query, ...next.runnersUp.map((each) => each.query)]
        : plan.next.map((each) => each.query);
      found = best.filter(open);
    }
    fill(
      this.found,
      found.map((query) =>
        h(
          "li",
          {},
          button(() => this.askNext(query), ["Ask", hidden(` ${questions[query]}`)], {
            class: "small",
          }),
          " ",
          isolated(questions[query]),
        ),
      ),
      found.length ? null : h("li", { class: "quiet" }, "No such question is left."),
    );
  }

  /** @param {number} query */
  askNext(query) {
    const { app } = this;
    const place = this.step;
    const chosen = chosenUpTo(app.state.chosen, place - 1).set(place, query);
    this.search.value = "";
    this.search.focus();
    app.change({ chosen }, { undoable: true });
  }
}
