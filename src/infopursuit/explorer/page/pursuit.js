// @ts-check
// Information Pursuit: what to ask next, what the answers say, when to stop.
// The same mathematics as src/infopursuit/pursuit/naive_bayes, pursuit and explanation/stopping.py, in
// double precision: questions, answers and posteriors agree with Python.

/** @import { Model, Stop } from "./payload.js" */

/**
 * @typedef {{query: number, answer: number}} Answered  a question and its answer in [0, 1]
 * @typedef {{posterior: Float64Array, values: Float64Array, order: Float64Array}} Prediction
 *   after a history: P(class); of each question its value, and what decides between them
 *   (`order`; those asked before are -Infinity in both)
 * @typedef {"information gain" | "information for cost" | "querier probability"} Criterion
 * @typedef {{name: Criterion, rounding: number, remote: boolean,
 *   predict: (history: Answered[], banned?: ReadonlySet<number>) => Prediction | Promise<Prediction>,
 *   predictAll?: (histories: Answered[][], banned?: ReadonlySet<number>) => Promise<Prediction[]>,
 *   forClasses: (classes: number[]) => Predictor}} Predictor
 *   what a model thinks of histories; questions in `banned` are not asked; `forClasses`: the same,
 *   as if there were no other classes
 * @typedef {{query: number, value: number}} Candidate
 * @typedef {{query: number, answer: number, posterior: Float64Array, value: number,
 *   runnersUp: Candidate[], chosen: boolean, given: boolean}} Step
 *   `chosen`: a person chose the question; `given`: a person gave the answer
 * @typedef {"probability" | "entropy" | "stability"} Condition  of a stopping rule
 * @typedef {{prior: Float64Array, steps: Step[], ended: Condition | "maximum" | "questions",
 *   next: Candidate[], posterior: Float64Array, notAsked: Map<number, Float64Array>}} Plan
 *   `ended`: the condition that held, or that no more may be asked, or that no question is left;
 *   `next`: what it would ask if it went on, the best first; `notAsked`: of answers that a person
 *   gave and no question asked for, the posterior as if each had come last
 * @typedef {{stop: Stop, struck: ReadonlySet<number>, chosen: ReadonlyMap<number, number>,
 *   given: ReadonlyMap<number, number>}} WhatIf
 *   `struck`: questions that are not asked; `chosen`: question asked at a step, counted from 0;
 *   `given`: answers of a person instead of the image's
 */

export const RUNNERS_UP = 3;
// An answer this close to a level, in steps between levels, is that level.
const NEAR_LEVEL = 1e-4;
// An answer tells nothing if its logarithms differ by less between all classes.
const TELLS_NOTHING = 1e-6;
// Answers in a row are grouped if they leave each class in a band narrower than this, and the most
// probable class as it was. If that is so of all, this many that moved a class most stand alone.
const LITTLE = 1 / 10;
const MOVERS = 3;
// Probabilities are compared as explanations keep them.
const DIGITS = 1e6;
// After which answer of a question another one is redundant.
const [ANY, YES, NO, UNSURE] = [0, 1, 2, 3];

/** p log p as it enters entropies, in nats. @param {number} p */
export function entropyTerm(p) {
  return p > 0 ? -p * Math.log(p) : 0;
}

/** @param {ArrayLike<number>} posterior @returns {number} in nats */
function entropyOf(posterior) {
  let total = 0;
  for (let i = 0; i < posterior.length; i++) total += entropyTerm(posterior[i]);
  return total;
}

/** The place of the largest number, the first of equals. @param {ArrayLike<number>} numbers */
export function largest(numbers) {
  let best = 0;
  for (let i = 1; i < numbers.length; i++) if (numbers[i] > numbers[best]) best = i;
  return best;
}

/** @param {Float64Array} logits @returns {Float64Array} */
export function softmax(logits) {
  const top = logits[largest(logits)];
  const result = new Float64Array(logits.length);
  let total = 0;
  for (let i = 0; i < logits.length; i++) total += result[i] = Math.exp(logits[i] - top);
  for (let i = 0; i < logits.length; i++) result[i] /= total;
  return result;
}

/** A posterior as if there were no other classes; null for all.
 * @param {Float64Array} posterior @param {number[] | null} classes @returns {Float64Array} */
export function renormalized(posterior, classes) {
  if (!classes) return posterior;
  const total = classes.reduce((sum, y) => sum + posterior[y], 0);
  return posterior.map((each, y) => (classes.includes(y) ? each / total : 0));
}

/** The question that every image is asked first, unless it is known or struck; null for none.
 * @param {Model} model @param {Predictor} predictor @param {ReadonlySet<number>} [struck] */
function firstOf({ first }, predictor, struck = NONE_STRUCK) {
  const known = predictor instanceof Remembering ? predictor.known : [];
  const free = first !== null && !struck.has(first) && known.every(({ query }) => query !== first);
  return free ? first : null;
}

/** Naive Bayes and its information gain; of classes, or of s subclasses in their place.
 * @implements {Predictor} */
export class NaiveBayes {
  /** @param {Model} model @param {number[] | null} [classes] as if there were no others */
  constructor(model, classes = null) {
    if (!model.table) throw new Error(`${model.name} has no table`);
    const { k, c, table } = model;
    this.model = model;
    const cheapest = Math.min(...(table.costs ?? []));
    /** What gains are divided by, the cost of each question; null if all cost the same. */
    this.price = table.costs && table.costs.map((each) => each / cheapest);
    /** @type {Criterion} */
    this.name = this.price ? "information for cost" : "information gain";
    this.remote = false;
    this.rounding = table.rounding;
    this.k = k;
    this.c = c;
    this.levels = model.levels ?? 2;
    this.table = table;
    this.words = model.words;
    const all = table.of ?? Uint16Array.from({ length: c }, (_, y) => y);
    const possible = new Set(classes ?? all);
    const kept = [...all.keys()].filter((z) => possible.has(all[z]));
    const s = kept.length;
    this.s = s;
    /** The class of each subclass, (s). */
    this.of = kept.map((z) => all[z]);
    this.logPrior = Float64Array.from(kept, (z) => table.logPrior[z]);
    if (classes) {
      const left = Math.log(this.logPrior.reduce((sum, each) => sum + Math.exp(each), 0));
      this.logPrior = this.logPrior.map((each) => Math.fround(each - left));
    }
    this.logLikelihood = new Float64Array(this.levels * k * s);
    for (let i = 0; i < this.levels * k; i++) {
      for (let z = 0; z < s; z++) {
        this.logLikelihood[i * s + z] = table.logLikelihood[i * all.length + kept[z]];
      }
    }
    this.likelihood = this.logLikelihood.map(Math.exp);
    /** Entropy of the answers, (k, s). */
    this.answerEntropy = new Float64Array(k * s);
    for (let level = 0; level < this.levels; level++) {
      const start = level * k * s;
      for (let i = 0; i < k * s; i++) {
        this.answerEntropy[i] += entropyTerm(this.likelihood[start + i]);
      }
    }
  }

  /** @param {number[]} classes */
  forClasses(classes) {
    return new NaiveBayes(this.model, classes);
  }

  /** How probable each answer is in each class before any other, (levels, k, c). */
  get marginal() {
    const { c, s, of, likelihood } = this;
    if (!this.table.of) return likelihood;
    const prior = softmax(this.logPrior);
    const whole = this.pooled(prior);
    const rates = new Float64Array((likelihood.length / s) * c);
    for (let i = 0; i < likelihood.length; i++) {
      const z = i % s;
      rates[Math.floor(i / s) * c + of[z]] += (prior[z] / whole[of[z]]) * likelihood[i];
    }
    return rates;
  }

  /** Probabilities of classes from those of their subclasses. @param {Float64Array} shares (s) */
  pooled(shares) {
    const result = new Float64Array(this.c);
    for (let z = 0; z < this.s; z++) result[this.of[z]] += shares[z];
    return result;
  }

  /** Logarithms of classes from those of their subclasses; -Infinity for a class that is left out.
   * @param {Float64Array} logs (s) @returns {Float64Array} (c) */
  pooledLogs(logs) {
    const { of, s, c } = this;
    const tops = new Float64Array(c).fill(-Infinity);
    for (let z = 0; z < s; z++) tops[of[z]] = Math.max(tops[of[z]], logs[z]);
    const sums = this.pooled(logs.map((each, z) => Math.exp(each - tops[of[z]])));
    return tops.map((top, y) => top + Math.log(sums[y]));
  }

  /** That of one class. @param {Float64Array} evidence (s) @param {number} y */
  evidenceOf(evidence, y) {
    return this.pooledLogs(evidence)[y];
  }

  /** Add the evidence of an answer: log P(answer | subclass).
   * @param {Float64Array} evidence (s), changed
   * @param {Answered} answered */
  add(evidence, { query, answer }) {
    const { s, k, levels, logLikelihood } = this;
    const at = answer * (levels - 1);
    const level = halfToEven(at);
    const start = (level * k + query) * s;
    const off = at - level;
    if (Math.abs(off) < NEAR_LEVEL) {
      for (let z = 0; z < s; z++) evidence[z] += logLikelihood[start + z];
      return;
    }
    // Between two levels: one or the other, as probable as it is near.
    const other = Math.min(Math.max(level + Math.sign(off), 0), levels - 1);
    const neighbor = (other * k + query) * s;
    for (let z = 0; z < s; z++) {
      const ratio = Math.exp(logLikelihood[neighbor + z] - logLikelihood[start + z]);
      evidence[z] += logLikelihood[start + z] + Math.log1p(Math.abs(off) * (ratio - 1));
    }
  }

  /** @param {Answered[]} history @returns {Float64Array} log-prior plus the evidence of the answers */
  evidence(history) {
    const evidence = this.logPrior.slice();
    for (const answered of history) this.add(evidence, answered);
    return evidence;
  }

  /** Whether an answer is more probable in one class than in another. @param {Answered} answered */
  tells(answered) {
    const own = new Float64Array(this.s);
    this.add(own, answered);
    return Math.max(...own) - Math.min(...own) > TELLS_NOTHING;
  }

  /** @param {Float64Array} evidence (s)
   * @param {number} asked how many answers told something @returns {Float64Array} (c) */
  posterior(evidence, asked) {
    const { independentAnswers, evidenceWeight, growth, temperatureRatio: ratio } = this.table;
    const power = this.table.priorExponent;
    if (!asked) return this.pooled(softmax(evidence));
    const prior = this.pooledLogs(this.logPrior);
    const { logPrior, of } = this;
    const divisor = (1 + asked / independentAnswers) ** growth / evidenceWeight;
    /** @param {number} by */
    const divided = (by) => {
      // P(subclass | class) stays whole.
      const said = evidence.map((all, z) => (all - logPrior[z]) / by + logPrior[z] - prior[of[z]]);
      const worn = (/** @type {number} */ own) => (own === -Infinity ? own : own / by ** power);
      return softmax(this.pooledLogs(said).map((each, y) => worn(prior[y]) + each));
    };
    const flat = divided(divisor * ratio);
    return divided(divisor / ratio).map((sharp, y) => (sharp + flat[y]) / 2);
  }

  /** The gain of every question, times what it counts, in nats; for its cost, if it has one.
   * @param {Float64Array} evidence
   * @param {(query: number) => boolean} skip questions that get -Infinity
   * @returns {Float64Array} */
  gains(evidence, skip = () => false) {
    const p = softmax(evidence);
    const gain = this.table.of ? this.classGain(p) : this.plainGain(p);
    const gains = new Float64Array(this.k);
    for (let query = 0; query < this.k; query++) {
      const value = skip(query) ? -Infinity : gain(query);
      gains[query] = this.price ? value / this.price[query] : value;
    }
    return gains;
  }

  /** @param {Float64Array} p @returns {(query: number) => number} */
  plainGain(p) {
    const { k, s, levels, words, likelihood, answerEntropy } = this;
    return (query) => {
      const start = query * s;
      let gain = 0;
      for (let y = 0; y < s; y++) gain -= p[y] * answerEntropy[start + y];
      // The probability of the first answer is what the others leave.
      let left = 1;
      for (let level = 1; level < levels; level++) {
        if (words && !words[query][level]) continue;
        const row = level * k * s + start;
        let expected = 0;
        for (let y = 0; y < s; y++) expected += p[y] * likelihood[row + y];
        gain += entropyTerm(expected);
        left -= expected;
      }
      return gain + entropyTerm(Math.max(left, 0));
    };
  }

  /** About the class, not the subclass: H(answer) + H(class) - H(both).
   * @param {Float64Array} p (s) @returns {(query: number) => number} */
  classGain(p) {
    const { k, s, of, levels, likelihood } = this;
    const classes = entropyOf(this.pooled(p));
    return (query) => {
      let gain = classes;
      for (let level = 0; level < levels; level++) {
        const row = (level * k + query) * s;
        let [expected, ofClass] = [0, 0];
        for (let z = 0; z < s; z++) {
          ofClass += p[z] * likelihood[row + z];
          if (of[z + 1] === of[z]) continue;
          gain -= entropyTerm(ofClass);
          expected += ofClass;
          ofClass = 0;
        }
        gain += entropyTerm(expected);
      }
      return gain;
    };
  }

  /** Questions whose answers are implied by these. @param {Answered[]} history @returns {Set<number>} */
  late(history) {
    const late = new Set();
    const pairs = this.table.putOff?.pairs ?? [];
    if (!pairs.length) return late;
    const answers = new Map(history.map(({ query, answer }) => [query, answer]));
    for (let i = 0; i < pairs.length; i += 3) {
      const answer = answers.get(pairs[i]);
      if (answer === undefined) continue;
      const given = answer > 0.5 ? YES : answer < 0.5 ? NO : UNSURE;
      if ([ANY, given].includes(pairs[i + 2])) late.add(pairs[i + 1]);
    }
    return late;
  }

  /** @param {Answered[]} history @param {ReadonlySet<number>} [banned] @returns {Prediction} */
  predict(history, banned = new Set()) {
    const evidence = this.evidence(history);
    const asked = new Set(history.map((answered) => answered.query));
    const skip = (/** @type {number} */ query) => asked.has(query) || banned.has(query);
    const order = this.gains(evidence, skip);
    for (const query of this.late(history)) order[query] = -Infinity;
    // Rounding may leave a gain a hair below zero.
    const values = order.map((gain) => (gain < 0 && gain > -Infinity ? 0 : gain));
    const told = history.filter((answered) => this.tells(answered)).length;
    return { posterior: this.posterior(evidence, told), values, order };
  }
}

// Numbers that remembered predictions may hold: 16 MiB.
const REMEMBERED = 2 ** 21;

/** A predictor that remembers its predictions: plans that begin alike share their beginning. Before
 * each history comes what is known.
 * @implements {Predictor} */
export class Remembering {
  /** @param {Predictor} predictor @param {Model} model @param {Answered[]} [known] */
  constructor(predictor, model, known = []) {
    this.predictor = predictor;
    this.model = model;
    this.known = known;
    this.name = predictor.name;
    this.rounding = predictor.rounding;
    this.remote = predictor.remote;
    this.most = Math.ceil(REMEMBERED / (2 * model.k + model.c));
    /** @type {Map<string, Prediction>} */
    this.predictions = new Map();
  }

  /** @param {Answered[]} history @param {ReadonlySet<number>} [banned]
   * @returns {Prediction | Promise<Prediction>} */
  predict(history, banned = new Set()) {
    const answers = history.map(({ query, answer }) => `${query}:${answer}`).join();
    const key = `${answers}/${[...banned].join()}`;
    const before = this.predictions.get(key);
    if (before) return before;
    const { known } = this;
    const prediction = this.predictor.predict([...known, ...history], banned);
    if (prediction instanceof Promise) return prediction.then((each) => this.keep(key, each));
    return this.keep(key, prediction);
  }

  /** @param {number[]} classes */
  forClasses(classes) {
    return new Remembering(this.predictor.forClasses(classes), this.model, this.known);
  }

  /** @param {string} key @param {Prediction} prediction */
  keep(key, prediction) {
    const [oldest] = this.predictions.keys();
    if (this.predictions.size >= this.most) this.predictions.delete(oldest);
    this.predictions.set(key, prediction);
    return prediction;
  }
}

/** As Python and torch round. @param {number} value */
function halfToEven(value) {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest === 0.5) return below % 2 === 0 ? below : below + 1;
  return Math.round(value);
}

/**
 * The best questions that can be asked: the one to ask, what to ask without it, and so on. Of those
 * within `rounding` of the best the first is asked.
 * @param {Prediction} prediction
 * @param {number} rounding
 * @param {number} count at most this many
 * @returns {Candidate[]}
 */
export function ranked(prediction, rounding, count) {
  const { values } = prediction;
  const order = Float64Array.from(prediction.order);
  const places = [];
  // A few of many: cheaper than sorting all.
  while (places.length < count) {
    const top = order[largest(order)];
    if (top === -Infinity) break;
    const best = order.findIndex((value) => value >= top - rounding);
    places.push(best);
    order[best] = -Infinity;
  }
  return places.map((query) => ({ query, value: values[query] }));
}

/** How probable a class has to be for the questions to end: `StoppingRule.needed`.
 * @param {number | null} probability that of the rule
 * @param {ArrayLike<number>} prior the posterior before any question
 * @param {number} leader the class
 * @returns {number | null} null if the probability plays no part */
export function needed(probability, prior, leader) {
  if (probability === null) return null;
  const rarer = leader === largest(prior) ? 2 * (1 - prior[leader]) : 1;
  return rarer < 1 ? 1 - (1 - probability) * rarer : probability;
}

/** Counts questions, and says when to ask no more: `StoppingRule` in stopping.py. */
export class Stopping {
  /** @param {Stop} stop @param {number} questions how many can be asked */
  constructor(stop, questions) {
    this.stop = stop;
    this.budget = stop.max_queries === null ? questions : Math.min(stop.max_queries, questions);
    this.unchanged = 0;
    this.leader = -1;
    /** @type {Float64Array | null} the posterior before any question */
    this.prior = null;
  }

  /** The first condition that holds, now that the posterior is this; null if none does.
   * @param {Float64Array} posterior @returns {Condition | null} */
  hears(posterior) {
    this.prior ??= posterior;
    const leader = largest(posterior);
    this.unchanged = leader === this.leader ? this.unchanged + 1 : 0;
    this.leader = leader;
    const { probability, entropy, stability } = this.stop;
    // Python compares in single precision.
    const least = needed(probability, this.prior, leader);
    if (least !== null && Math.fround(posterior[leader]) >= Math.fround(least)) {
      return "probability";
    }
    if (entropy !== null && entropyOf(posterior) <= entropy) return "entropy";
    return stability !== null && this.unchanged >= stability ? "stability" : null;
  }
}

/** Whether a plan ended for being sure. @param {string} ended */
export const certain = (ended) => ["probability", "entropy"].includes(ended);

/** A posterior as explanations keep it. @param {Float64Array} posterior */
function rounded(posterior) {
  return posterior.map((each) => Math.round(DIGITS * each) / DIGITS);
}

/** The widest band in which posteriors in a row have a class (`Explanation.moved`).
 * @param {Float64Array[]} course */
function widest(course) {
  let most = 0;
  for (let y = 0; y < course[0].length; y++) {
    let [low, high] = [1, 0];
    for (const posterior of course) {
      low = Math.min(low, posterior[y]);
      high = Math.max(high, posterior[y]);
    }
    most = Math.max(most, high - low);
  }
  return Math.round(DIGITS * most) / DIGITS;
}

/** How far steps in a row moved a class. @param {Plan} plan @param {number[]} run */
export function moved({ prior, steps }, run) {
  const before = run[0] ? steps[run[0] - 1].posterior : prior;
  return widest([before, ...run.map((place) => steps[place].posterior)].map(rounded));
}

/**
 * The steps as they are read, by number from 0: each is alone, or in a group (`Explanation.grouped`).
 * @param {Plan} course
 * @returns {number[][]}
 */
export function grouped(course) {
  const sizes = course.steps.map((_, place) => moved(course, [place]));
  const runs = runsOf(course, sizes, new Set());
  if (runs.slice(0, -1).some((run) => run.length === 1)) return runs;
  const most = [...sizes.keys()].sort((a, b) => sizes[b] - sizes[a]).slice(0, MOVERS);
  return runsOf(course, sizes, new Set(most));
}

/** @param {Plan} course @param {number[]} sizes @param {ReadonlySet<number>} alone */
function runsOf(course, sizes, alone) {
  /** @type {number[][]} */
  const runs = [];
  let [before, run] = [rounded(course.prior), /** @type {number[]} */ ([])];
  for (const [place, step] of course.steps.entries()) {
    const after = rounded(step.posterior);
    const small = sizes[place] < LITTLE && sameLeaders(before, after);
    const last = place === sizes.length - 1;
    if (small && !step.given && !step.chosen && !last && !alone.has(place)) run.push(place);
    else {
      runs.push(...parted(course, run, sizes), [place]);
      run = [];
    }
    before = after;
  }
  return runs;
}

/** Takes the answer that moved most (of equals the middle one) out of what moved much.
 * @param {Plan} course @param {number[]} run @param {number[]} sizes @returns {number[][]} */
function parted(course, run, sizes) {
  if (run.length < 2 || moved(course, run) < LITTLE) return run.length ? [run] : [];
  const aside = (/** @type {number} */ place) => Math.abs(2 * place - run[0] - run[run.length - 1]);
  const [most] = [...run].sort((a, b) => sizes[b] - sizes[a] || aside(a) - aside(b));
  const at = run.indexOf(most);
  const [before, after] = [run.slice(0, at), run.slice(at + 1)];
  return [...parted(course, before, sizes), [most], ...parted(course, after, sizes)];
}

/** Whether the same classes are the most probable. @param {Float64Array} before
 * @param {Float64Array} after */
function sameLeaders(before, after) {
  const [was, is] = [before[largest(before)], after[largest(after)]];
  return before.every((each, y) => (each === was) === (after[y] === is));
}

/** @type {WhatIf["struck"]} */
export const NONE_STRUCK = new Set();

/** Ask questions of an image until the stopping rule holds. A question that a person chose is asked
 * even where the rule would have ended the questions before.
 * @param {Model} model
 * @param {Predictor} predictor
 * @param {ArrayLike<number>} answers (k) of the image, in [0, 1]
 * @param {Partial<WhatIf>} [whatIf]
 * @returns {Promise<Plan>} */
export async function plan(model, predictor, answers, whatIf = {}) {
  const { stop = model.stop, struck = NONE_STRUCK, chosen = new Map(), given = new Map() } = whatIf;
  const questions = model.k - struck.size;
  const stopping = new Stopping(stop, questions);
  const lastChosen = Math.max(-1, ...chosen.keys());
  /** @type {Answered[]} */
  const history = [];
  /** @type {Step[]} */
  const steps = [];
  let prediction = await predictor.predict(history, struck);
  const prior = prediction.posterior;
  for (let t = 0; ; t++) {
    const holds = stopping.hears(prediction.posterior);
    const candidates = ranked(prediction, predictor.rounding, RUNNERS_UP + 1);
    const done = (holds !== null || t >= stopping.budget) && t > lastChosen;
    if (done || !candidates.length) {
      const { posterior } = prediction;
      /** @type {Plan["notAsked"]} */
      const notAsked = new Map();
      for (const [query, answer] of given) {
        if (struck.has(query) || history.some((each) => each.query === query)) continue;
        const after = await predictor.predict([...history, { query, answer }], struck);
        notAsked.set(query, after.posterior);
      }
      const out =
        stop.max_queries !== null && t >= stop.max_queries && stop.max_queries < questions;
      const ended = holds ?? (out ? "maximum" : "questions");
      return { prior, steps, ended, next: candidates, posterior, notAsked };
    }
    const wanted = chosen.get(t);
    const free = wanted !== undefined && prediction.order[wanted] > -Infinity;
    let query = candidates[0].query;
    if (free) query = wanted;
    else if (t === 0) query = firstOf(model, predictor, struck) ?? query;
    const answer = given.get(query) ?? answers[query];
    history.push({ query, answer });
    const value = prediction.values[query];
    prediction = await predictor.predict(history, struck);
    steps.push({
      query,
      answer,
      posterior: prediction.posterior,
      value,
      runnersUp: candidates.filter((each) => each.query !== query).slice(0, RUNNERS_UP),
      chosen: free,
      given: given.has(query),
    });
  }
}

/**
 * What a person who answers has said so far leads to: the posterior after each answer, and what the
 * model asks next. With a picture, that answers what it is certain of and the person the rest
 * (`Dialogue.listen`, with `person_cost=1`).
 * @param {Model} model
 * @param {Predictor} predictor
 * @param {Answered[]} said by the person; in this order, unless there is a picture
 * @param {Stop} stop
 * @param {((query: number) => number | undefined) | null} [picture] its answer where it is certain
 * @returns {Promise<{history: Answered[], posteriors: Float64Array[], next: Candidate | null,
 *   more: boolean}>} `more`: whether a question is left
 */
export async function dialogue(model, predictor, said, stop, picture = null) {
  const stopping = new Stopping(stop, model.k);
  const given = new Map(said.map(({ query, answer }) => [query, answer]));
  /** @type {Answered[]} */
  const history = [];
  /** @type {Float64Array[]} */
  const posteriors = [];
  for (;;) {
    const t = history.length;
    const prediction = await predictor.predict([...history]);
    posteriors.push(prediction.posterior);
    const holds = stopping.hears(prediction.posterior) !== null;
    let [best] = ranked(prediction, predictor.rounding, 1);
    const first = t === 0 ? firstOf(model, predictor) : null;
    if (first !== null) best = { query: first, value: prediction.values[first] };
    const over = holds || t >= stopping.budget;
    const query = picture ? (over ? undefined : best?.query) : said[t]?.query;
    const answer = query === undefined ? undefined : (given.get(query) ?? picture?.(query));
    if (query === undefined || answer === undefined) {
      return { history, posteriors, next: over ? null : (best ?? null), more: best !== undefined };
    }
    history.push({ query, answer });
  }
}
