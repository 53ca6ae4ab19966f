// @ts-check
// A class: what speaks for and against it, and what it is taken for.

import { shareBar } from "./bars.js";
import { button, choice, fill, h, heads, inRow, isolated, quiet, table, titled } from "./dom.js";
import { card } from "./pictures.js";
import { answersTo, counted, percent, precisePercent } from "./words.js";
/** @import { App, Image } from "./app.js" */

const SAMPLES = 8;
const SPEAKING = 6;
const CONFUSED = 6;
const APART = 5;
// Nats that an answer has to tell of two classes to be worth a line.
const TELLING = 0.02;
// Rates this near to 0 and 1 are as good as both: their logarithms are not infinite.
const LEAST = 1e-4;

export class ClassesView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.turn = 0;
    /** @type {number | null} */
    this.made = null;
    const { classes } = app.model;
    this.select = choice(classes, (shown) => app.change({ shown, beside: null }), { id: "class" });
    this.other = choice(classes, (beside) => app.change({ beside }), { id: "beside" });
    this.title = h("h1", {});
    this.body = h("div", { class: "stack" });
    this.confusions = h("div", {});
    this.apart = h("div", {});
    this.element = h(
      "div",
      { class: "view classes-view" },
      this.title,
      inRow(
        h("label", { for: "class" }, "Class"),
        this.select,
        button(() => this.step(-1), "Previous"),
        button(() => this.step(1), "Next"),
      ),
      this.body,
      h(
        "div",
        { class: "columns" },
        titled("confused-title", "What it is taken for", {}, this.confusions),
        titled(
          "apart-title",
          "What tells them apart?",
          {},
          inRow(h("label", { for: "beside" }, "Next to"), this.other),
          this.apart,
        ),
      ),
    );
  }

  get shown() {
    return this.app.state.shown ?? 0;
  }

  /** @param {number} by */
  step(by) {
    const { c } = this.app.model;
    this.app.change({ shown: (this.shown + by + c) % c, beside: null });
  }

  async update() {
    const turn = ++this.turn;
    const { app } = this;
    const y = this.shown;
    this.select.value = String(y);
    fill(this.title, "How does it know “", isolated(app.model.classes[y]), "”?");
    if (this.made !== y) this.build(y);
    this.made = y;
    const outcomes = await app.outcomes();
    if (turn !== this.turn) return;
    this.showConfusions(y, outcomes.predicted);
  }

  /** @param {number} y */
  build(y) {
    const { app } = this;
    const images = app.test.filter((each) => each.label === y);
    const samples = images.filter((each) => each.thumbnail).slice(0, SAMPLES);
    const rows = this.speaking(y);
    const least = rows.slice().reverse();
    fill(
      this.body,
      samples.length
        ? h(
            "ul",
            { class: "thumbs" },
            samples.map((image) => h("li", {}, card(app, image))),
          )
        : null,
      h(
        "div",
        { class: "columns" },
        this.table(
          app.model.words ? "What speaks for it" : "What speaks for it: a yes to",
          y,
          rows.slice(0, SPEAKING).filter((each) => each.weight > 0),
        ),
        this.table(
          app.model.words ? "What speaks against it" : "What speaks against it: a yes to",
          y,
          least.slice(0, SPEAKING).filter((each) => each.weight < 0),
        ),
      ),
    );
  }

  /**
   * Questions by how much a yes is expected to speak for the class: how often it is said, times the
   * evidence it then is. Where the others say it more often, it speaks against the class.
   * @param {number} y
   */
  speaking(y) {
    const { app } = this;
    const { k, c } = app.model;
    const rows = [];
    for (let query = 0; query < k; query++) {
      // A question for the value of a column has a line for each value.
      const said = app.model.words ? answersTo(app.model, query).slice(0, -1) : [null];
      for (const each of said) {
        const saying = (/** @type {number} */ z) =>
          each ? (app.answerRate(each.value, query, z) ?? 0) : app.yesRate(query, z);
        const own = saying(y);
        let others = 0;
        for (let z = 0; z < c; z++) if (z !== y) others += saying(z) / (c - 1);
        const evidence = Math.log(Math.max(own, LEAST) / Math.max(others, LEAST));
        const weight = Math.max(own, others) * evidence;
        rows.push({ query, own, others, weight, word: each?.word ?? "" });
      }
    }
    return rows.sort((a, b) => b.weight - a.weight || a.query - b.query);
  }

  /** @param {string} title @param {number} y
   * @param {{query: number, own: number, others: number, word: string}[]} rows */
  table(title, y, rows) {
    const { classes, questions } = this.app.model;
    return h(
      "section",
      {},
      h("h2", {}, title),
      rows.length
        ? ratesTable(
            isolated(classes[y]),
            "others",
            rows.map((row) => [
              isolated(`${questions[row.query]} ${row.word}`.trim()),
              rate(row.own, "own"),
              rate(row.others, "other"),
            ]),
          )
        : quiet(classes.length > 1 ? "Nothing." : "There is no other class."),
    );
  }

  /** @param {number} y @param {Int32Array} predicted */
  showConfusions(y, predicted) {
    const { app } = this;
    const { classes, c } = app.model;
    const taken = new Int32Array(c);
    const mistaken = new Int32Array(c);
    let of = 0;
    app.scorable.forEach((image, i) => {
      if (image.label === y) {
        of++;
        taken[predicted[i]]++;
      } else if (image.label !== null && predicted[i] === y) mistaken[image.label]++;
    });
    const order = Array.from({ length: c }, (_, z) => z).filter(
      (z) => z !== y && taken[z] + mistaken[z],
    );
    order.sort((a, b) => taken[b] + mistaken[b] - taken[a] - mistaken[a]);
    const right = of
      ? `${precisePercent(taken[y] / of)} of ${counted(of, app.scoredNoun)} are right.`
      : `No test ${app.noun} is of this class.`;
    fill(
      this.confusions,
      h("p", {}, right),
      order.length
        ? table(
            {},
            [
              ...heads(["Class"]),
              h("th", { scope: "col", class: "number" }, "taken for it"),
              h("th", { scope: "col", class: "number" }, "it taken for ", isolated(classes[y])),
            ],
            order
              .slice(0, CONFUSED)
              .map((z) =>
                h(
                  "tr",
                  {},
                  h(
                    "th",
                    { scope: "row" },
                    h("a", { href: app.link({ beside: z }) }, isolated(classes[z])),
                  ),
                  h("td", { class: "number" }, this.wrong(y, z, taken[z])),
                  h("td", { class: "number" }, this.wrong(z, y, mistaken[z])),
                ),
              ),
          )
        : quiet("It is confused with no class."),
    );
    if (c < 2) {
      fill(this.apart, quiet("There is no other class."));
      return;
    }
    const beside = app.state.beside ?? order[0] ?? this.nearest(y);
    this.other.value = String(beside);
    this.showApart(y, beside);
  }

  /** @param {number} truth @param {number} said @param {number} count */
  wrong(truth, said, count) {
    if (!count) return "0";
    return h(
      "a",
      {
        href: this.app.link({
          view: "failures",
          truth,
          said,
          asked: null,
          shortest: null,
          longest: null,
        }),
      },
      String(count),
    );
  }

  /** The class whose best question tells least. @param {number} y */
  nearest(y) {
    const { c } = this.app.model;
    let best = y === 0 ? 1 : 0;
    for (let z = 0; z < c; z++) {
      if (z !== y && this.telling(y, z)[0].value < this.telling(y, best)[0].value) best = z;
    }
    return best;
  }

  /** Questions by the information of their answer where only these two classes are possible.
   * @param {number} y @param {number} z */
  telling(y, z) {
    const { app } = this;
    const { k, c, levels } = app.model;
    const rates = app.rates();
    const rows = [];
    for (let query = 0; query < k; query++) {
      let value = 0;
      for (let level = 0; level < (levels ?? 2); level++) {
        const at = (level * k + query) * c;
        const [p, q] = [rates[at + y], rates[at + z]];
        const middle = (p + q) / 2;
        if (p > 0) value += (p * Math.log(p / middle)) / 2;
        if (q > 0) value += (q * Math.log(q / middle)) / 2;
      }
      rows.push({ query, value });
    }
    return rows.sort((a, b) => b.value - a.value || a.query - b.query);
  }

  /** How a class answers. @param {number} query @param {number} y @param {string} kind */
  answered(query, y, kind) {
    const said = this.app.said(query, y);
    return rate(said.rate, kind, this.app.model.words ? quiet(said.word) : null);
  }

  /** @param {number} y @param {number} z */
  showApart(y, z) {
    const { app } = this;
    const { classes, questions } = app.model;
    if (y === z) {
      fill(this.apart, quiet("It is the same class."));
      return;
    }
    const [best, ...others] = this.telling(y, z).slice(0, APART);
    const rows = [best, ...others.filter((each) => each.value > TELLING)];
    fill(
      this.apart,
      ratesTable(
        isolated(classes[y]),
        isolated(classes[z]),
        rows.map(({ query }) => [
          isolated(questions[query]),
          this.answered(query, y, "own"),
          this.answered(query, z, "other"),
        ]),
      ),
      quiet(
        `${app.model.words ? "The most frequent answers" : `Shares of ${app.noun}s that answer yes`}. The questions are in the order of how much their answers tell of which of the two it is.`,
      ),
    );
  }
}

/** The share of images that answer yes.
 * @param {number} share @param {string} kind of the bar @param {import("./dom.js").Child} more */
function rate(share, kind, more = null) {
  return h(
    "td",
    { class: "rate" },
    h("span", { class: "number" }, percent(share)),
    shareBar(share, kind),
    more,
  );
}

/** Questions, each with two shares of yes.
 * @param {import("./dom.js").Child} first of the shares
 * @param {import("./dom.js").Child} second
 * @param {[import("./dom.js").Child, HTMLElement, HTMLElement][]} rows */
function ratesTable(first, second, rows) {
  const body = rows.map(([question, ...cells]) =>
    h("tr", {}, h("th", { scope: "row" }, question), cells),
  );
  return table({ class: "rates" }, heads(["Question", first, second]), body);
}
