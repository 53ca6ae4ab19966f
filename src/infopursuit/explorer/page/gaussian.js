// @ts-check
// Information Pursuit by jointly normal scores: the same mathematics as
// src/infopursuit/pursuit/gaussian, in double precision.

import { entropyTerm, softmax } from "./pursuit.js";

/** @import { Model } from "./payload.js" */
/** @import { Answered, Criterion, Prediction, Predictor } from "./pursuit.js" */

/** How probable it is that a standard normal number is at most this (Marsaglia 2004).
 * @param {number} x */
export function normalShare(x) {
  if (Math.abs(x) > 8) return x > 0 ? 1 : 0;
  let [sum, term] = [x, x];
  for (let i = 3; sum + term !== sum; i += 2) sum += term *= (x * x) / i;
  return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

/** In nats, of a yes that is given with this probability. @param {number} share */
const entropyOfYes = (share) => entropyTerm(share) + entropyTerm(1 - share);

/** @implements {Predictor} */
export class GaussianScores {
  /** @param {Model} model @param {number[] | null} [classes] as if there were no others */
  constructor(model, classes = null) {
    if (!model.scores) throw new Error(`${model.name} has no scores`);
    this.model = model;
    this.scores = model.scores;
    this.classes = classes ?? [...model.classes.keys()];
    /** @type {Criterion} */
    this.name = "information gain";
    this.rounding = model.scores.rounding;
    this.remote = false;
  }

  /** @param {number[]} classes */
  forClasses(classes) {
    return new GaussianScores(this.model, classes);
  }

  /** The value and the noise of an answer; null if it tells nothing. @param {Answered} answered
   * @returns {[number, number] | null} */
  observed({ query, answer }) {
    const { told, wordMeans, wordVariances } = this.scores;
    if (answer === 0.5) return null;
    const place = told.indexOf(answer) * this.model.k + query;
    return place < 0 ? [answer, 0] : [wordMeans[place], wordVariances[place]];
  }

  /** What is expected of all answers after some: of each class its means and the log-likelihood of
   * the answers, and the variance within classes.
   * @param {Answered[]} history */
  conditioned(history) {
    const { model, scores, classes } = this;
    const { k } = model;
    const evidence = new Float64Array(classes.length);
    const means = classes.map((y) => Float64Array.from(scores.means.subarray(y * k, (y + 1) * k)));
    const own = Float64Array.from({ length: k }, (_, i) => scores.covariance[i * k + i]);
    const variance = own.slice();
    /** @type {Float64Array[]} */
    const loadings = [];
    for (const answered of history) {
      const observed = this.observed(answered);
      if (!observed) continue;
      const [value, noise] = observed;
      const { query } = answered;
      const deviation = Math.sqrt(variance[query] + noise);
      const loading = Float64Array.from({ length: k }, (_, i) => {
        let shared = scores.covariance[query * k + i];
        for (const before of loadings) shared -= before[query] * before[i];
        return shared / deviation;
      });
      for (const [place, mean] of means.entries()) {
        const surprise = (value - mean[query]) / deviation;
        evidence[place] -= surprise ** 2 / 2;
        for (let i = 0; i < k; i++) mean[i] += surprise * loading[i];
      }
      for (let i = 0; i < k; i++) {
        variance[i] = Math.max(variance[i] - loading[i] ** 2, scores.least * own[i]);
      }
      loadings.push(loading);
    }
    return { evidence, means, variance };
  }

  /** How much an answer tells of the class, in nats. @param {Float64Array} means of the classes
   * @param {number} deviation @param {Float64Array} posterior */
  information(means, deviation, posterior) {
    const { step: finest, reach, most } = this.scores;
    const centres = means.map((mean) => mean / deviation);
    const low = Math.min(...centres.filter((_, y) => posterior[y])) - reach;
    const wide = Math.max(...centres.filter((_, y) => posterior[y])) + reach - low;
    const step = Math.max(wide / (most - 1), finest);
    let entropy = 0;
    for (let node = 0; node <= Math.ceil(wide / step); node++) {
      let density = 0;
      for (const [y, share] of posterior.entries()) {
        if (share) density += share * Math.exp(-((low + step * node - centres[y]) ** 2) / 2);
      }
      density /= Math.sqrt(2 * Math.PI);
      if (density) entropy -= density * Math.log(density) * step;
    }
    return Math.max(0, entropy - Math.log(2 * Math.PI * Math.E) / 2);
  }

  /** @param {Answered[]} history @param {ReadonlySet<number>} [banned] @returns {Prediction} */
  predict(history, banned = new Set()) {
    const { model, scores, classes } = this;
    const { k } = model;
    const { evidence, means, variance } = this.conditioned(history);
    const prior = (/** @type {number} */ place) => scores.logPrior[classes[place]];
    const believed = softmax(evidence.map((each, place) => each + prior(place)));
    const asked = new Set(history.map(({ query }) => query));
    const live = believed.map((share) => (share > scores.negligible ? share : 0));
    const whole = live.reduce((sum, share) => sum + share, 0);
    const counted = live.map((share) => share / whole);
    const expectation = (/** @type {(place: number) => number} */ of) =>
      counted.reduce((sum, share, place) => sum + share * of(place), 0);
    const ratios = Array.from({ length: k }, (_, query) => {
      if (asked.has(query) || banned.has(query)) return -Infinity;
      const mean = expectation((place) => means[place][query]);
      return expectation((place) => (means[place][query] - mean) ** 2) / variance[query];
    });
    const values = new Float64Array(k).fill(-Infinity);
    const free = [...ratios.keys()].filter((query) => ratios[query] > -Infinity);
    free.sort((a, b) => ratios[b] - ratios[a] || a - b);
    for (const query of free.slice(0, scores.candidates)) {
      const deviation = Math.sqrt(variance[query]);
      const expected = Float64Array.from(means, (mean) => mean[query]);
      values[query] = this.information(expected, deviation, counted);
      if (history.length) continue;
      const above = expected.map((mean) => normalShare((mean - 0.5) / deviation));
      values[query] += entropyOfYes(expectation((place) => above[place]));
      values[query] -= expectation((place) => entropyOfYes(above[place]));
    }
    const [weight, scale, growth] = scores.temperature;
    const counts = weight / (1 + history.length / scale) ** growth;
    const shares = softmax(evidence.map((each, place) => counts * each + prior(place)));
    const posterior = new Float64Array(model.c);
    for (const [place, y] of classes.entries()) posterior[y] = shares[place];
    return { posterior, values, order: values };
  }
}
