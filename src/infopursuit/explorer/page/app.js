// @ts-check
// What all views share: the model and images, the state, and what follows from both.

import { GaussianScores } from "./gaussian.js";
import { announce, button, h, inRow } from "./dom.js";
import { Networks } from "./networks.js";
import { outcomesOf } from "./outcomes.js";
import { answersOf } from "./payload.js";
import { NaiveBayes, Remembering, plan } from "./pursuit.js";
import { RemoteMind, ServerError } from "./remote.js";
import { emptyState, hashOf, readHash } from "./state.js";
import { answerWord, answersTo } from "./words.js";
/** @import { Model, Payload, Picture, Places, Stop } from "./payload.js" */
/** @import { Predictor, Plan, WhatIf } from "./pursuit.js" */
/** @import { Outcomes } from "./outcomes.js" */
/** @import { State } from "./state.js" */

/**
 * @typedef {{id: string, label: number | null, thumbnail: string | null, split: Split,
 *   answers: () => Float32Array, places: Places | null, unusual: number | null}} Image
 * @typedef {"test" | "train" | "scored" | "yours"} Split
 */

// How many past states can be taken back.
const REMEMBERED = 500;

/** @param {Model} model @returns {Predictor} */
function predictorOf(model) {
  if (model.table) return new NaiveBayes(model);
  if (model.scores) return new GaussianScores(model);
  return model.networks ? new Networks(model) : new RemoteMind(model.k + model.classes.length);
}

export class App {
  /** @param {Payload} payload */
  constructor(payload) {
    this.payload = payload;
    this.predictor = predictorOf(payload.model);
    this.remembering = new Remembering(this.predictor, payload.model);
    this.test = payload.test.map((each) => this.imageOf(each, "test"));
    this.train = payload.train.map((each) => this.imageOf(each, "train"));
    this.scored = this.scoredImages();
    // Among which classes, and with what is known, the person is asked.
    this.narrowed = { key: "all", predictor: this.predictor };
    this.asked = { key: "all/", mind: this.remembering };
    /** @type {Image[]} Pictures that a person gave. */
    this.yours = [];
    this.state = emptyState();
    /** @type {string[]} */
    this.past = [];
    /** @type {() => void} */
    this.onChange = () => {};
    /** @type {Promise<Outcomes> | null} */
    this.known = null;
    /** @type {Float64Array | null} */
    this.rateTable = null;
  }

  /** What an image is called: of a table a row. */
  get noun() {
    return this.payload.noun;
  }

  get model() {
    return this.payload.model;
  }

  /** Reads the answers of rows of images when they are first needed.
   * @param {string} packed @param {number} rows */
  reader(packed, rows) {
    /** @type {Float32Array | null} */
    let values = null;
    return () => (values ??= answersOf(packed, this.model, rows));
  }

  /** @param {Picture} picture @param {Split} split @returns {Image} */
  imageOf({ packed, ...more }, split) {
    return { ...more, split, answers: this.reader(packed, 1) };
  }

  /** @returns {Image[]} */
  scoredImages() {
    const { labels, packed } = this.payload.scored;
    const all = this.reader(packed, labels.length);
    return Array.from(labels, (label, row) => ({
      id: `more-${row + 1}`,
      label,
      thumbnail: null,
      places: null,
      unusual: null,
      split: /** @type {const} */ ("scored"),
      answers: () => all().subarray(row * this.model.k, (row + 1) * this.model.k),
    }));
  }

  /** What images are called that accuracies are counted on. */
  get scoredNoun() {
    return this.payload.fitted ? this.noun : `test ${this.noun}`;
  }

  /** All images of the test split: with pictures first. */
  get scorable() {
    return [...this.test, ...this.scored];
  }

  /** @param {string | null} id @returns {Image | null} */
  image(id) {
    const all = [this.yours, this.test, this.scored, this.train];
    for (const images of all) {
      const found = images.find((each) => each.id === id);
      if (found) return found;
    }
    return null;
  }

  /** The image that is looked at. @returns {Image | null} */
  get current() {
    const { image } = this.state;
    return image === null ? (this.test[0] ?? this.train[0] ?? null) : this.image(image);
  }

  /** The stopping rule with what the sliders say. @returns {Stop} */
  stop() {
    const { sure, most } = this.state;
    const { stop } = this.model;
    return {
      ...stop,
      probability: sure === null ? stop.probability : sure / 100,
      max_queries: most === null ? stop.max_queries : most === "all" ? null : most,
    };
  }

  /** What questions cost; null if all cost the same. */
  get costs() {
    return this.model.table?.costs ?? null;
  }

  /** The model with what a person says is known, among the classes that the person leaves. */
  mind() {
    const { known, classes: possible } = this.state;
    const classes = possible && [...possible].sort((a, b) => a - b);
    const some = classes?.join() ?? "all";
    if (this.narrowed.key !== some) {
      const predictor = classes ? this.predictor.forClasses(classes) : this.predictor;
      this.narrowed = { key: some, predictor };
    }
    const key = `${some}/${[...known].join()}`;
    if (this.asked.key !== key) {
      const answers = Array.from(known, ([query, answer]) => ({ query, answer }));
      const mind = new Remembering(this.narrowed.predictor, this.model, answers);
      this.asked = { key, mind };
    }
    return this.asked.mind;
  }

  /** @param {Image} image @param {Partial<WhatIf>} whatIf @param {Remembering} [mind]
   * @returns {Promise<Plan>} */
  plan(image, whatIf, mind = this.remembering) {
    return plan(this.model, mind, image.answers(), whatIf);
  }

  /** What the model makes of all test images by its own stopping rule; computed once.
   * @returns {Promise<Outcomes>} */
  outcomes() {
    if (!this.known) {
      const answers = this.scorable.map((image) => image.answers());
      this.known = outcomesOf(this.model, this.predictor, answers);
      this.known.catch(() => {
        this.known = null;
      });
    }
    return this.known;
  }

  /** How often each class gives each answer, (levels, k, c): by the model's table, or else counted
   * on the test images. */
  rates() {
    const { predictor } = this;
    this.rateTable ??= predictor instanceof NaiveBayes ? predictor.marginal : this.counted();
    return this.rateTable;
  }

  /** @returns {Float64Array} */
  counted() {
    const { model } = this;
    const { k, c, levels } = model;
    const [v, size] = [levels ?? 2, k * c];
    const rates = new Float64Array(v * size);
    const seen = new Float64Array(c);
    for (const image of this.scorable) {
      if (image.label === null) continue;
      seen[image.label]++;
      const answers = image.answers();
      for (let query = 0; query < k; query++) {
        const place = query * c + image.label;
        if (levels === null) {
          const yes = model.scale ? Number(answers[query] > 0.5) : answers[query];
          rates[size + place] += yes;
          rates[place] += 1 - yes;
        } else {
          rates[Math.round(answers[query] * (v - 1)) * size + place]++;
        }
      }
    }
    return rates.map((count, i) => (seen[i % c] ? count / seen[i % c] : 1 / v));
  }

  /** How often a class answers yes. @param {number} query @param {number} y */
  yesRate(query, y) {
    const { k, c, levels } = this.model;
    const rates = this.rates();
    let share = 0;
    for (let level = (levels ?? 2) - 1; 2 * level > (levels ?? 2) - 1; level--) {
      share += rates[(level * k + query) * c + y];
    }
    return share;
  }

  /** How often a class gives an answer. @param {number} answer @param {number} query @param {number} y
   * @returns {number | null} null where it gives no such answer */
  answerRate(answer, query, y) {
    const { k, c, levels } = this.model;
    const exact = answer * ((levels ?? 2) - 1);
    const level = Math.round(exact);
    if (Math.abs(exact - level) > 1e-6) return null;
    return this.rates()[(level * k + query) * c + y];
  }

  /** The most frequent answer of a class. @param {number} query @param {number} y */
  usual(query, y) {
    const rates = answersTo(this.model, query).map((each) => ({
      ...each,
      rate: this.answerRate(each.value, query, y) ?? 0,
    }));
    return rates.reduce((best, each) => (each.rate > best.rate ? each : best));
  }

  /** What is said of a class: how often it answers yes, or the value that a column usually has.
   * @param {number} query @param {number} y */
  said(query, y) {
    if (this.model.words) return this.usual(query, y);
    const rate = this.yesRate(query, y);
    return { word: answerWord(1), value: rate, rate };
  }

  /** Show another state.
   * @param {Partial<State>} changes
   * @param {{undoable?: boolean}} [options] whether "Undo" comes back to the state before */
  change(changes, { undoable = false } = {}) {
    const before = hashOf(this.state);
    this.state = { ...this.state, ...changes };
    const after = hashOf(this.state);
    if (after === before) return;
    if (undoable) {
      this.past.push(before);
      this.past.splice(0, this.past.length - REMEMBERED);
    }
    this.onChange();
    location.hash = after;
  }

  /** Take the last change back. */
  undo() {
    const before = this.past.pop();
    if (before === undefined) return;
    this.read(before);
    this.onChange();
    location.hash = before;
  }

  /** Take the state from an address. @param {string} hash @returns {string[]} what cannot be */
  read(hash) {
    const { state, problems } = readHash(hash, this.payload);
    this.state = state;
    if (state.image !== null && !this.image(state.image)) {
      problems.push(`image=${state.image}`);
      this.state.image = null;
    }
    return problems;
  }

  /** An address of another state. @param {Partial<State>} changes */
  link(changes) {
    return `#${hashOf({ ...this.state, ...changes })}`;
  }

  /** Tell of something that went wrong with the server or the data. @param {unknown} error
   * @param {() => void} [again] what to try again */
  complain(error, again) {
    if (error instanceof ServerError) this.notify(error.message, again);
    else {
      this.notify(`Something in this page failed: ${String(error)}`);
      throw error;
    }
  }

  /** @param {string} message for everybody to see @param {() => void} [again] */
  notify(message, again) {
    const retry = () => {
      box.remove();
      again?.();
    };
    const box = h(
      "div",
      { class: "notice", role: "alert" },
      h("p", {}, message),
      inRow(
        again ? button(retry, "Try again", { class: "plain" }) : null,
        button(() => box.remove(), "Close", { class: "plain" }),
      ),
    );
    document.getElementById("notices")?.replaceChildren(box);
  }

  announce = announce;
}
