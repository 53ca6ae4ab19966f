// @ts-check
// What a person says before the first question: answers that are known, and which classes there are.

import { button, fill, h, hidden, inRow, isolated, quiet } from "./dom.js";
import { pictureOfImage } from "./pictures.js";
import { answerText, counted, say } from "./words.js";
/** @import { App } from "./app.js" */

/** @param {string} id @param {string} name @param {HTMLElement} control */
function named(id, name, control) {
  return h("span", { class: "check" }, h("label", { for: id }, name), control);
}

/** Answers that are known: they count as evidence, and are not asked. */
export class KnownAnswers {
  /** @param {App} app
   * @param {(query: number) => readonly {word: string, value: number}[]} degrees possible answers */
  constructor(app, degrees) {
    this.app = app;
    this.degrees = degrees;
    this.offered = "";
    this.question = h("select", { id: "known-question", on: { change: () => this.offer() } });
    this.answer = h("select", { id: "known-answer" });
    this.add = button(() => this.take(), "Add", { class: "small" });
    this.list = h("ul", { class: "known-list", "aria-label": "Known already" });
    this.element = h(
      "div",
      { class: "known" },
      this.list,
      h(
        "details",
        {},
        h("summary", {}, "What do you know already?"),
        quiet("What you know counts, and is not asked."),
        inRow(
          named("known-question", "Question", this.question),
          named("known-answer", "Answer", this.answer),
          this.add,
        ),
      ),
    );
  }

  update() {
    const { model, state } = this.app;
    const { known } = state;
    const offered = [...known.keys()].join();
    if (offered !== this.offered || !this.question.options.length) {
      const left = model.questions.map((text, query) => ({ text, query }));
      fill(
        this.question,
        left
          .filter(({ query }) => !known.has(query))
          .map(({ text, query }) => h("option", { value: String(query) }, text)),
      );
      this.offered = offered;
      this.offer();
    }
    this.add.disabled = known.size === model.k;
    this.list.hidden = known.size === 0;
    fill(
      this.list,
      Array.from(known, ([query, answer]) =>
        h(
          "li",
          {},
          h("span", { class: "tag" }, say("known")),
          " ",
          isolated(model.questions[query]),
          " ",
          h("b", {}, answerText(answer, model, query)),
          " ",
          button(() => this.remove(query), ["Remove", hidden(` ${model.questions[query]}`)], {
            class: "small",
          }),
        ),
      ),
    );
  }

  /** The answers to the question that is chosen. */
  offer() {
    const degrees = this.question.value ? this.degrees(Number(this.question.value)) : [];
    fill(
      this.answer,
      degrees.map(({ word, value }) => h("option", { value: String(value) }, word)),
    );
  }

  take() {
    const { app } = this;
    const query = Number(this.question.value);
    const known = new Map(app.state.known).set(query, Number(this.answer.value));
    const you = app.state.you.filter((each) => each.query !== query);
    app.change({ known, you, was: null }, { undoable: true });
  }

  /** @param {number} query */
  remove(query) {
    const known = new Map(this.app.state.known);
    known.delete(query);
    this.app.change({ known, was: null }, { undoable: true });
  }
}

/** The classes, and which of them are possible: those that are ticked, or all if none is. */
export class ClassList {
  /** @param {App} app @param {boolean} open */
  constructor(app, open) {
    this.app = app;
    const { classes } = app.model;
    this.summary = h("summary", {});
    /** @type {Set<number> | null | undefined} the classes that it shows as ticked */
    this.possible = undefined;
    this.ticks = classes.map((_, y) =>
      h("input", { type: "checkbox", on: { change: () => this.tick(y) } }),
    );
    this.all = button(() => this.leave(null), "All", { class: "small" });
    this.others = button(() => this.leave(this.complement()), "None of these", { class: "small" });
    this.element = h(
      "details",
      { class: "class-list", open },
      this.summary,
      classes.length > 1
        ? h(
            "div",
            { class: "row", role: "group", "aria-label": "Possible classes" },
            quiet("Only these are possible: tick some, or none for all."),
            this.all,
            this.others,
          )
        : null,
      h(
        "ul",
        { class: "classes" },
        classes.map((name, y) => {
          const sample = app.test.find((image) => image.label === y && image.thumbnail);
          const picture = sample ? pictureOfImage(sample, "") : null;
          const tick = classes.length > 1 ? this.ticks[y] : null;
          return h(
            "li",
            {},
            h("label", {}, picture, h("span", { class: "check" }, tick, isolated(name))),
          );
        }),
      ),
    );
  }

  update() {
    const { classes } = this.app.state;
    if (classes === this.possible) return; // with thousands of classes it takes time
    this.possible = classes;
    const count = counted(this.ticks.length, "class", "classes");
    this.summary.textContent = classes ? `Only ${classes.size} of ${count}` : count;
    for (const [y, tick] of this.ticks.entries()) tick.checked = classes?.has(y) ?? false;
    this.all.disabled = !classes;
    this.others.disabled = !classes || classes.size === this.ticks.length;
  }

  complement() {
    const { classes } = this.app.state;
    return new Set([...this.ticks.keys()].filter((y) => !classes?.has(y)));
  }

  /** @param {number} y */
  tick(y) {
    const classes = new Set(this.app.state.classes);
    if (!classes.delete(y)) classes.add(y);
    this.leave(classes.size ? classes : null);
  }

  /** @param {Set<number> | null} classes */
  leave(classes) {
    this.app.change({ classes, was: null }, { undoable: true });
  }
}
