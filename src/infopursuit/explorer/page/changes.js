// @ts-check
// What a person changed: a list to take back from, and what came of it.

import { button, fill, h, hidden, icon, isolated, inRow } from "./dom.js";
import { largest } from "./pursuit.js";
import { answerText, percent, say } from "./words.js";
/** @import { App, Image } from "./app.js" */
/** @import { Plan } from "./pursuit.js" */

export class ChangesPanel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.undo = button(() => app.undo(), [icon("undo"), "Undo"]);
    this.reset = button(
      () =>
        app.change({ given: new Map(), struck: new Set(), chosen: new Map() }, { undoable: true }),
      "Reset",
    );
    this.outcome = h("p", { class: "outcome" });
    this.list = h("ul", { class: "changed-list" });
    this.element = h(
      "section",
      { class: "changes", "aria-label": "Your changes" },
      this.outcome,
      this.list,
      inRow(this.undo, this.reset),
    );
  }

  /** @param {Image} image @param {Plan} own @param {Plan} plan */
  update(image, own, plan) {
    const { app } = this;
    const { given, struck, chosen } = app.state;
    const { questions, classes } = app.model;
    const any = given.size + struck.size + chosen.size > 0;
    this.undo.disabled = app.past.length === 0;
    this.reset.disabled = !any;
    this.element.hidden = !any && app.past.length === 0;
    const summary = (/** @type {Plan} */ each) => {
      const top = largest(each.posterior);
      return [
        h("b", {}, isolated(classes[top]), ` ${percent(each.posterior[top])}`),
        ` ${say("after", { count: each.steps.length })}`,
      ];
    };
    fill(
      this.outcome,
      any
        ? ["Before your changes: ", ...summary(own), ". Now: ", ...summary(plan), "."]
        : "Nothing is changed.",
    );
    this.outcome.classList.toggle("another", largest(own.posterior) !== largest(plan.posterior));
    const answers = image.answers();
    const predicted = largest(plan.posterior);
    /** What an answer that was not asked for would have done.
     * @param {number} query @param {string} change */
    const wouldHave = (query, change) => {
      const posterior = plan.notAsked.get(query);
      if (!posterior) return change;
      const said = [...new Set([predicted, largest(posterior)])].map((y) =>
        say("would_have", { class_name: classes[y], probability: percent(posterior[y]) }),
      );
      return say("changed_not_asked", { change, beliefs: said.join(say("and")) });
    };
    const rows = [
      ...Array.from(given, ([query, answer]) => ({
        query,
        words: wouldHave(
          query,
          [answers[query], answer].map((each) => answerText(each, app.model, query)).join(" → "),
        ),
        back: () => ({ given: without(given, query) }),
      })),
      ...Array.from(struck, (query) => ({
        query,
        words: "struck",
        back: () => ({ struck: new Set([...struck].filter((each) => each !== query)) }),
      })),
      ...Array.from(chosen, ([step, query]) => ({
        query,
        words: `asked as question ${step + 1}`,
        back: () => ({ chosen: without(chosen, step) }),
      })),
    ];
    const now = new Set(plan.steps.map((each) => each.query));
    const gone = own.steps.filter((each) => !now.has(each.query) && !struck.has(each.query));
    fill(
      this.list,
      rows.map(({ query, words, back }) =>
        h(
          "li",
          {},
          isolated(questions[query]),
          ` ${words} `,
          button(
            () => app.change(back(), { undoable: true }),
            ["Take back", hidden(` ${questions[query]}`)],
            { class: "small" },
          ),
        ),
      ),
      any && gone.length
        ? h(
            "li",
            { class: "quiet" },
            "No longer asked: ",
            gone.flatMap((each, i) => [i ? " " : "", isolated(questions[each.query])]),
          )
        : null,
    );
  }
}

/** @param {ReadonlyMap<number, number>} map @param {number} key @returns {Map<number, number>} */
function without(map, key) {
  return new Map([...map].filter(([each]) => each !== key));
}
