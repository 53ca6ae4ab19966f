// @ts-check
// The dictionary: every question, and the accuracy without some of them.

import { classRow } from "./bars.js";
import { ClassTable } from "./class_table.js";
import { button, fill, h, hidden, isolated, quiet, inRow } from "./dom.js";
import { outcomesOf, scoreOf } from "./outcomes.js";
import { Growing } from "./pictures.js";
import { capital, counted, percent, precisePercent } from "./words.js";
/** @import { App } from "./app.js" */

/**
 * @typedef {"number" | "often" | "truth" | "yes"} Order
 * @typedef {{right: number, of: number, questions: number}} Score
 */

// At most this many classes have their names above the strips.
const AXIS = 32;

export class DictionaryView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Float64Array | null} share of test images that each question is asked of */
    this.often = null;
    this.baseline = { right: 0, of: 0, questions: 0 };
    /** @type {AbortController | null} */
    this.running = null;
    this.measured = "";
    /** @type {number[]} */
    this.found = [];
    this.search = h("input", {
      type: "search",
      id: "search",
      autocomplete: "off",
      on: { input: () => this.showRows() },
    });
    this.order = h(
      "select",
      { id: "order", on: { change: () => this.showRows() } },
      [
        ["often", "how often asked"],
        ["number", "the dictionary"],
        ["yes", "how often yes"],
        ...(app.model.truth ? [["truth", "how true"]] : []),
      ].map(([value, name]) => h("option", { value }, name)),
    );
    this.count = h("span", { class: "quiet", role: "status" });
    this.strikeAll = button(() => this.strikeFound(), "Strike all found");
    this.rows = h("ul", { class: "dictionary" });
    this.growing = new Growing(this.rows, (/** @type {number} */ query) => this.row(query));
    this.effect = h("div", { class: "effect", role: "status" });
    this.back = button(
      () => app.change({ struck: new Set() }, { undoable: true }),
      "Ask all again",
    );
    this.undo = button(() => app.undo(), "Undo");
    this.panel = h(
      "section",
      { class: "panel", "aria-label": "Accuracy without struck questions" },
      this.effect,
      inRow(this.undo, this.back),
    );
    this.table = app.model.knowledge ? new ClassTable(app.model) : null;
    const { classes } = app.model;
    this.readout = h("span", { class: "quiet", "aria-hidden": "true" });
    this.element = h(
      "div",
      { class: "view dictionary-view" },
      h("h1", {}, "What can it ask?"),
      h(
        "p",
        { class: "lead" },
        `All ${app.model.k.toLocaleString("en")} questions. The strips show ${app.model.words ? "the usual answer of each class" : `how often each of the ${classes.length} classes answers yes`}. Strike questions, and see how good the model is without them.`,
      ),
      this.panel,
      this.table?.element,
      h(
        "div",
        { class: "row tools" },
        h("label", { for: "search" }, "Search"),
        this.search,
        h("label", { for: "order" }, "Order by"),
        this.order,
        this.count,
        this.strikeAll,
      ),
      this.axis(),
      this.rows,
    );
  }

  /** The classes above the strips; many classes have no room, and are read by pointing. */
  axis() {
    const { classes } = this.app.model;
    const few = classes.length <= AXIS;
    if (!few) fill(this.readout, "Point at a strip to read a class.");
    const names = classes.map((name) => h("span", {}, isolated(name)));
    const axis = h("div", { class: "axis", style: { "--classes": String(classes.length) } }, names);
    return h(
      "div",
      { class: `axis-row${few ? "" : " many"}`, "aria-hidden": "true" },
      this.readout,
      few ? axis : null,
    );
  }

  async update() {
    const { app } = this;
    if (!this.growing.items.length) this.showRows();
    this.markStruck();
    await this.measure();
    if (this.often) return;
    const outcomes = await app.outcomes();
    const often = new Float64Array(app.model.k);
    for (const asked of outcomes.asked) {
      for (const query of asked) often[query] += 1 / outcomes.asked.length;
    }
    this.often = often;
    this.showRows();
  }

  markStruck() {
    const { struck } = this.app.state;
    for (const row of this.rows.children) {
      const query = Number(/** @type {HTMLElement} */ (row).dataset.query);
      row.classList.toggle("struck", struck.has(query));
      const box = row.querySelector("input");
      if (box) box.checked = struck.has(query);
    }
    this.undo.disabled = this.app.past.length === 0;
    this.back.disabled = struck.size === 0;
    const left = this.found.filter((each) => !struck.has(each)).length;
    this.strikeAll.disabled = !this.search.value.trim() || left === 0;
  }

  /** Accuracy on the test images without the struck questions. */
  async measure() {
    const { app } = this;
    const { struck } = app.state;
    const key = [...struck].sort((a, b) => a - b).join();
    if (key === this.measured && this.effect.childElementCount) return;
    this.measured = key;
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    const labels = app.scorable.map((each) => each.label);
    const progress = (/** @type {number} */ share) => {
      if (!running.signal.aborted) {
        fill(
          this.effect,
          quiet(`Asking ${counted(labels.length, app.scoredNoun)} … ${percent(share)}`),
        );
      }
    };
    progress(0);
    try {
      const own = scoreOf(await app.outcomes(), labels);
      if (!struck.size) {
        this.show(own, null);
        return;
      }
      const answers = app.scorable.map((each) => each.answers());
      const outcomes = await outcomesOf(app.model, app.predictor, answers, {
        struck,
        signal: running.signal,
        progress,
      });
      if (!running.signal.aborted) this.show(own, scoreOf(outcomes, labels));
    } catch (error) {
      if (running.signal.aborted) return;
      this.measured = "";
      throw error;
    }
  }

  /** @param {Score} own @param {Score | null} without */
  show(own, without) {
    const { struck } = this.app.state;
    if (!own.of) {
      fill(this.effect, h("p", {}, `This page holds no test ${this.app.noun} with a known class.`));
      return;
    }
    /** @param {Score} score */
    const words = ({ right, of, questions }) =>
      `${precisePercent(right / of)} of ${counted(of, this.app.scoredNoun)} right, after ${questions.toFixed(1)} questions on average`;
    if (!without) {
      fill(this.effect, h("p", {}, h("b", {}, "With all questions: "), words(own), "."));
      return;
    }
    const points = (100 * (without.right - own.right)) / own.of;
    const change =
      points === 0 ? "no change" : `${points > 0 ? "+" : "−"}${Math.abs(points).toFixed(1)} points`;
    fill(
      this.effect,
      h(
        "p",
        {},
        h("b", {}, `Without ${counted(struck.size, "question")}: `),
        words(without),
        ` (${change}).`,
      ),
      quiet(`With all: ${words(own)}.`),
    );
  }

  /** @returns {number[]} questions that the search finds, in the order wanted */
  wanted() {
    const { k, queries, questions, truth, c } = this.app.model;
    const text = this.search.value.trim().toLowerCase();
    const all = Array.from({ length: k }, (_, query) => query);
    const found = all.filter(
      (query) => !text || `${questions[query]} ${queries[query]}`.toLowerCase().includes(text),
    );
    const { often } = this;
    const order = /** @type {Order} */ (this.order.value);
    const value = (/** @type {number} */ query) => {
      if (order === "often") return often ? often[query] : 0;
      if (order === "truth") return truth?.[query]?.right ?? -1;
      if (order === "number") return 0;
      let total = 0;
      for (let y = 0; y < c; y++) total += this.app.yesRate(query, y);
      return total;
    };
    const values = new Map(found.map((query) => [query, value(query)]));
    return found.sort(
      (a, b) =>
        /** @type {number} */ (values.get(b)) - /** @type {number} */ (values.get(a)) || a - b,
    );
  }

  showRows() {
    this.found = this.wanted();
    this.growing.show(this.found);
    this.count.textContent = this.search.value.trim()
      ? `${counted(this.found.length, "question")} found`
      : "";
    this.markStruck();
  }

  /** @param {number} query */
  row(query) {
    const { app } = this;
    const { questions, origins, truth } = app.model;
    const seen = truth?.[query];
    const facts = [
      origins[query] ? `${origins[query]}` : null,
      this.often ? `asked of ${percent(this.often[query])} of ${app.noun}s` : null,
      seen && seen.right !== null ? `${percent(seen.right)} true` : null,
      this.table ? this.table.words(query) : null,
    ].filter((each) => each !== null);
    const box = h("input", {
      type: "checkbox",
      checked: app.state.struck.has(query),
      on: { change: () => this.toggle(query) },
    });
    const details = h(
      "details",
      { class: "by-class" },
      h("summary", {}, "By class", hidden(` ${questions[query]}`)),
      h("div", {}),
    );
    details.addEventListener("toggle", () => this.showClasses(details, query));
    return h(
      "li",
      { "data-query": String(query), class: app.state.struck.has(query) ? "struck" : "" },
      h("label", { class: "strike" }, box, h("span", {}, "strike", hidden(` ${questions[query]}`))),
      h(
        "div",
        { class: "entry" },
        h("p", {}, isolated(questions[query])),
        quiet(facts.join(" · ")),
      ),
      this.strip(query),
      details,
    );
  }

  /** The yes-rate of every class as a strip of shades. @param {number} query */
  strip(query) {
    const { app } = this;
    const { c, classes } = app.model;
    const stops = [];
    for (let y = 0; y < c; y++) {
      const shade = `color-mix(in oklab, var(--heat) ${Math.round(100 * app.said(query, y).value)}%, var(--cold))`;
      stops.push(`${shade} ${(100 * y) / c}% ${(100 * (y + 1)) / c}%`);
    }
    const strip = h("div", {
      class: "strip-heat",
      "aria-hidden": "true",
      style: {
        "background-image": `linear-gradient(to right, ${stops.join(", ")})`,
        "--classes": String(c),
      },
    });
    strip.addEventListener("pointermove", (event) => {
      const y = Math.min(Math.floor((event.offsetX / strip.clientWidth) * c), c - 1);
      if (y >= 0) {
        const { rate, word } = app.said(query, y);
        fill(this.readout, isolated(classes[y]), `: ${percent(rate)} ${word}`);
      }
    });
    return strip;
  }

  /** @param {HTMLDetailsElement} details @param {number} query */
  showClasses(details, query) {
    const body = /** @type {HTMLElement} */ (details.lastElementChild);
    if (!details.open || body.childElementCount) return;
    const { app } = this;
    const rates = app.model.classes.map((_, y) => ({ y, ...app.said(query, y) }));
    rates.sort((a, b) => b.rate - a.rate);
    fill(
      body,
      h(
        "ul",
        { class: this.table ? "bars known" : "bars" },
        rates.map(({ y, rate, word }) =>
          classRow(
            app,
            y,
            rate,
            ...(app.model.words ? [quiet(word)] : []),
            ...(this.table ? [this.table.cell(query, y)] : []),
          ),
        ),
      ),
      h(
        "p",
        {},
        h(
          "a",
          {
            href: app.link({ view: "failures", asked: query, truth: null, said: null, all: true }),
          },
          `${capital(app.noun)}s that it is asked of`,
        ),
      ),
    );
  }

  /** @param {number} query */
  toggle(query) {
    const { app } = this;
    const struck = new Set(app.state.struck);
    if (!struck.delete(query)) struck.add(query);
    this.strike(struck);
  }

  strikeFound() {
    this.strike(new Set([...this.app.state.struck, ...this.found]));
  }

  /** @param {Set<number>} struck */
  strike(struck) {
    const { app } = this;
    if (struck.size < app.model.k) {
      app.change({ struck }, { undoable: true });
      return;
    }
    app.notify("No question would be left; expected at least one.");
    this.markStruck();
  }
}
