// @ts-check
// Failures: which images the model gets wrong, and which classes.

import { classRow } from "./bars.js";
import { button, choice, fill, h, isolated, quiet, table, titled } from "./dom.js";
import { Growing, card } from "./pictures.js";
import { scoreOf } from "./outcomes.js";
import { NO_FILTERS } from "./state.js";
import { capital, counted, percent, precisePercent } from "./words.js";
/** @import { App, Image } from "./app.js" */
/** @import { Outcomes } from "./outcomes.js" */

// A matrix of more classes shows those that are confused most.
const MATRIX = 24;

/** @typedef {{image: Image, predicted: number, probability: number, asked: Int32Array}} Outcome */

export class FailuresView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.turn = 0;
    const { classes, k } = app.model;
    const select = (/** @type {"truth" | "said"} */ key) =>
      choice(classes, (number) => this.filter({ [key]: number }), { id: key, any: "any" });
    const number = (/** @type {"shortest" | "longest"} */ key) =>
      h("input", {
        type: "number",
        id: key,
        min: "0",
        max: String(k),
        on: { change: (/** @type {Event} */ event) => this.filter({ [key]: numberIn(event) }) },
      });
    this.truth = select("truth");
    this.said = select("said");
    this.shortest = number("shortest");
    this.longest = number("longest");
    this.asked = h("input", {
      type: "search",
      id: "asked",
      list: "all-questions",
      autocomplete: "off",
      on: { change: () => this.filterAsked() },
    });
    this.right = h("input", {
      type: "checkbox",
      on: { change: () => this.filter({ all: this.right.checked }) },
    });
    this.count = h("p", { role: "status" });
    this.gallery = h("ul", { class: "gallery" });
    this.growing = new Growing(this.gallery, (/** @type {Outcome} */ each) => this.card(each));
    this.summary = h("p", { class: "lead" }, `Asking all ${app.noun}s …`);
    this.classes = h("div", {});
    this.matrix = h("div", {});
    const field = (/** @type {string} */ name, /** @type {HTMLElement} */ input) =>
      h("div", { class: "field" }, h("label", { for: input.id }, name), input);
    this.clear = button(() => this.filter(NO_FILTERS), "Clear filters");
    this.element = h(
      "div",
      { class: "view failures-view" },
      h("h1", {}, "Where is it wrong?"),
      this.summary,
      titled(
        "gallery-title",
        `${capital(app.noun)}s, the surest first`,
        {},
        h(
          "div",
          { class: "filters" },
          field("True class", this.truth),
          field("Predicted class", this.said),
          field("Questions, from", this.shortest),
          field("to", this.longest),
          field("This question asked", this.asked),
          h(
            "datalist",
            { id: "all-questions" },
            app.model.questions.map((each) => h("option", { value: each })),
          ),
          h("label", { class: "check" }, this.right, " also those that are right"),
          this.clear,
        ),
        this.count,
        this.gallery,
      ),
      h(
        "div",
        { class: "columns overview" },
        titled("matrix-title", "What is taken for what", {}, this.matrix),
        titled("accuracy-title", "Accuracy of each class", {}, this.classes),
      ),
    );
  }

  /** @param {Partial<import("./state.js").State>} changes */
  filter(changes) {
    this.app.change(changes);
  }

  filterAsked() {
    const text = this.asked.value.trim();
    const query = text ? this.app.model.questions.indexOf(text) : -1;
    if (text && query < 0) this.app.notify("There is no such question; pick one of the list.");
    this.filter({ asked: query < 0 ? null : query });
  }

  async update() {
    const turn = ++this.turn;
    const { app } = this;
    const { state } = app;
    this.truth.value = state.truth === null ? "" : String(state.truth);
    this.said.value = state.said === null ? "" : String(state.said);
    this.shortest.value = state.shortest === null ? "" : String(state.shortest);
    this.longest.value = state.longest === null ? "" : String(state.longest);
    this.asked.value = state.asked === null ? "" : app.model.questions[state.asked];
    this.right.checked = state.all;
    const outcomes = await app.outcomes();
    if (turn !== this.turn) return;
    this.showGallery(outcomes);
    if (!this.matrix.childElementCount) this.showCounts(outcomes);
    for (const pressed of this.matrix.querySelectorAll("button")) {
      const chosen =
        pressed.dataset.truth === this.truth.value && pressed.dataset.said === this.said.value;
      pressed.setAttribute("aria-pressed", String(chosen));
    }
  }

  /** @param {Outcomes} outcomes @returns {Outcome[]} */
  wanted({ predicted, probability, asked }) {
    const { truth, said, asked: query, shortest, longest, all } = this.app.state;
    const found = this.app.scorable.map((image, i) => ({
      image,
      predicted: predicted[i],
      probability: probability[i],
      asked: asked[i],
    }));
    return found
      .filter(
        (each) =>
          each.image.label !== null &&
          (all || each.image.label !== each.predicted) &&
          (truth === null || each.image.label === truth) &&
          (said === null || each.predicted === said) &&
          (shortest === null || each.asked.length >= shortest) &&
          (longest === null || each.asked.length <= longest) &&
          (query === null || each.asked.includes(query)),
      )
      .sort(
        (a, b) =>
          Number(b.image.thumbnail !== null) - Number(a.image.thumbnail !== null) ||
          b.probability - a.probability,
      );
  }

  /** @param {Outcomes} outcomes */
  showGallery(outcomes) {
    const found = this.wanted(outcomes);
    const pictured = found.filter((each) => each.image.thumbnail).length;
    const without = found.length - pictured;
    const kind = this.app.state.all ? this.app.noun : "wrong prediction";
    this.count.textContent = `${counted(found.length, kind)}${without && pictured ? `, ${without.toLocaleString("en")} of them without a picture in this page` : ""}`;
    this.growing.show(found);
  }

  /** @param {Outcome} outcome */
  card({ image, predicted, probability, asked }) {
    const { classes } = this.app.model;
    const right = predicted === image.label;
    return h(
      "li",
      {},
      card(
        this.app,
        image,
        h(
          "span",
          { class: right ? "verdict right" : "verdict wrong" },
          isolated(classes[predicted]),
          ` ${percent(probability)}`,
        ),
        h(
          "span",
          { class: "quiet" },
          right ? "right" : h("span", {}, "is ", isolated(classes[image.label ?? 0])),
        ),
        h("span", { class: "quiet" }, counted(asked.length, "question")),
      ),
    );
  }

  /** How many of the images are no test of the model. */
  fittedOn() {
    const { fitted } = this.app.payload;
    if (!fitted) return "";
    const all = fitted === this.app.scorable.length ? "all" : fitted.toLocaleString("en");
    return ` The model was fitted on ${all} of these ${this.app.noun}s, or on equal ones.`;
  }

  /** @param {Outcomes} outcomes */
  showCounts(outcomes) {
    const { app } = this;
    const { classes, c } = app.model;
    const labels = app.scorable.map((each) => each.label);
    const score = scoreOf(outcomes, labels);
    const counts = Array.from({ length: c }, () => new Int32Array(c));
    labels.forEach((label, i) => {
      if (label !== null) counts[label][outcomes.predicted[i]]++;
    });
    const wrong = score.of - score.right;
    this.summary.textContent = score.of
      ? `${precisePercent(score.right / score.of)} of ${counted(score.of, app.scoredNoun)} are right, ` +
        `${wrong.toLocaleString("en")} wrong. Questions stop after ${score.questions.toFixed(1)} on average.` +
        this.fittedOn()
      : `This page holds no test ${app.noun} with a known class.`;
    const rows = classes.map((_, y) => ({
      y,
      of: counts[y].reduce((a, b) => a + b, 0),
      right: counts[y][y],
    }));
    rows.sort((a, b) => a.right / (a.of || 1) - b.right / (b.of || 1) || a.y - b.y);
    fill(
      this.classes,
      h(
        "ul",
        { class: "bars wide" },
        rows
          .filter((row) => row.of)
          .map(({ y, of, right }) =>
            classRow(app, y, right / of, h("span", { class: "quiet number" }, `${right} of ${of}`)),
          ),
      ),
    );
    this.showMatrix(counts);
  }

  /** @param {Int32Array[]} counts */
  showMatrix(counts) {
    const { classes, c } = this.app.model;
    const errors = counts.map((row, y) =>
      row.reduce((sum, count, z) => sum + (z === y ? 0 : count + counts[z][y]), 0),
    );
    let shown = Array.from({ length: c }, (_, y) => y);
    if (c > MATRIX) {
      shown = shown
        .sort((a, b) => errors[b] - errors[a] || a - b)
        .slice(0, MATRIX)
        .sort((a, b) => a - b);
    }
    const cell = (/** @type {number} */ y, /** @type {number} */ z) => {
      const count = counts[y][z];
      const total = counts[y].reduce((a, b) => a + b, 0);
      const kind = y === z ? "right" : "wrong";
      if (!count) return h("td", { class: y === z ? "diagonal" : "" });
      const name = `${count} ${classes[y]} taken for ${classes[z]}`;
      return h(
        "td",
        { class: kind, style: { "--share": String(count / total) } },
        button(() => this.showCell(y, z), String(count), {
          "aria-label": name,
          "aria-pressed": "false",
          "data-truth": String(y),
          "data-said": String(z),
        }),
      );
    };
    fill(
      this.matrix,
      c > MATRIX ? quiet(`The ${MATRIX} classes of ${c} that are confused most.`) : null,
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": "Confusion matrix" },
        table(
          { class: "confusions" },
          [
            h("td", {}),
            ...shown.map((z) => h("th", { scope: "col" }, h("span", {}, isolated(classes[z])))),
          ],
          shown.map((y) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, isolated(classes[y])),
              shown.map((z) => cell(y, z)),
            ),
          ),
          h(
            "caption",
            { class: "hidden" },
            `Rows: true class; columns: predicted class; ${this.app.scoredNoun}s`,
          ),
        ),
      ),
      quiet(
        `Rows are true classes, columns predicted ones. Press a number to see its ${this.app.noun}s above.`,
      ),
    );
  }

  /** @param {number} truth @param {number} said */
  showCell(truth, said) {
    this.filter({ truth, said, all: truth === said });
    const title = document.getElementById("gallery-title");
    title?.setAttribute("tabindex", "-1");
    title?.focus();
    title?.scrollIntoView({ block: "start" });
  }
}

/** @param {Event} event @returns {number | null} */
function numberIn(event) {
  const { value } = /** @type {HTMLInputElement} */ (event.target);
  return value === "" ? null : Math.max(0, Math.floor(Number(value)));
}
