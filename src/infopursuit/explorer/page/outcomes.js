// @ts-check
// What a model makes of many images: predictions, lengths, accuracy.
// Images with the same history get the same next question, so that each history is predicted once.

import { NONE_STRUCK, Stopping, largest, ranked } from "./pursuit.js";
/** @import { Model, Stop } from "./payload.js" */
/** @import { Predictor, Prediction, Answered } from "./pursuit.js" */

/**
 * @typedef {{predicted: Int32Array, probability: Float64Array, asked: Int32Array[]}} Outcomes
 *   of n images where their questions end: the most probable class, its probability, and the
 *   questions in the order asked
 * @typedef {{history: Answered[], images: number[], stopping: Stopping}} Group
 */

// Other work, such as a click, waits no longer than this.
const SLICE = 12;

/** Let the browser do what waits. */
export function breathe() {
  return new Promise((/** @type {(value?: unknown) => void} */ resolve) => setTimeout(resolve, 0));
}

/** @param {Stopping} stopping */
function copied(stopping) {
  return Object.assign(Object.create(Stopping.prototype), stopping);
}

/** Ask all images, step by step.
 * @param {Model} model
 * @param {Predictor} predictor
 * @param {ArrayLike<number>[]} answers (k) of each image
 * @param {{stop?: Stop, struck?: ReadonlySet<number>, signal?: AbortSignal,
 *   progress?: (share: number) => void}} [options]
 * @returns {Promise<Outcomes>}
 * @throws the reason of `signal`, when it is aborted */
export async function outcomesOf(model, predictor, answers, options = {}) {
  const { stop = model.stop, struck = NONE_STRUCK, signal, progress = () => {} } = options;
  const count = answers.length;
  const predicted = new Int32Array(count);
  const probability = new Float64Array(count);
  /** @type {Int32Array[]} */
  const asked = Array.from({ length: count }, () => new Int32Array(0));
  /** @type {Group[]} */
  let groups = [];
  if (count) {
    const stopping = new Stopping(stop, model.k - struck.size);
    groups = [{ history: [], images: [...answers.keys()], stopping }];
  }
  let since = performance.now();
  let done = 0;

  /** @param {Group} group @param {Prediction} prediction @returns {Group[]} one for each answer */
  const split = ({ history, images, stopping }, prediction) => {
    const t = history.length;
    const holds = stopping.hears(prediction.posterior);
    const best = ranked(prediction, predictor.rounding, 1)[0];
    if (holds || t >= stopping.budget || !best) {
      const leader = largest(prediction.posterior);
      for (const image of images) {
        predicted[image] = leader;
        probability[image] = prediction.posterior[leader];
        asked[image] = Int32Array.from(history, (answered) => answered.query);
      }
      done += images.length;
      return [];
    }
    const firstOne = t === 0 && model.first !== null && !struck.has(model.first);
    const query = firstOne ? /** @type {number} */ (model.first) : best.query;
    /** @type {Map<number, number[]>} */
    const byAnswer = new Map();
    for (const image of images) {
      const answer = answers[image][query];
      const same = byAnswer.get(answer);
      if (same) same.push(image);
      else byAnswer.set(answer, [image]);
    }
    return Array.from(byAnswer, ([answer, alike]) => ({
      history: [...history, { query, answer }],
      images: alike,
      stopping: copied(stopping),
    }));
  };

  while (groups.length) {
    /** @type {Group[]} */
    const next = [];
    const predictions = predictor.predictAll
      ? await predictor.predictAll(
          groups.map((each) => each.history),
          struck,
        )
      : null;
    for (const [place, group] of groups.entries()) {
      next.push(
        ...split(
          group,
          predictions ? predictions[place] : await predictor.predict(group.history, struck),
        ),
      );
      if (performance.now() - since > SLICE) {
        progress(done / count);
        await breathe();
        since = performance.now();
      }
      signal?.throwIfAborted();
    }
    groups = next;
  }
  return { predicted, probability, asked };
}

/** @param {Outcomes} outcomes
 * @param {ArrayLike<number | null>} labels
 * @returns {{right: number, of: number, questions: number}} `questions`: asked on average */
export function scoreOf(outcomes, labels) {
  let [right, of, questions] = [0, 0, 0];
  for (let image = 0; image < labels.length; image++) {
    if (labels[image] === null) continue;
    of++;
    if (outcomes.predicted[image] === labels[image]) right++;
    questions += outcomes.asked[image].length;
  }
  return { right, of, questions: of ? questions / of : 0 };
}
