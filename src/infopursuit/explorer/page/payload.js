// @ts-check
// The document that the page shows: base64 becomes typed arrays.
// `src/infopursuit/explorer/payload.py` defines the format and checks what it writes.

/**
 * @typedef {{probability: number | null, max_queries: number | null, entropy: number | null,
 *   stability: number | null}} Stop  what is null plays no part
 * @typedef {{of: Uint16Array | null, logLikelihood: Float32Array, logPrior: Float32Array,
 *   independentAnswers: number, evidenceWeight: number, growth: number, temperatureRatio: number,
 *   priorExponent: number, putOff: PutOff | null, rounding: number,
 *   costs: number[] | null}} Table  of shape (s), (levels, k, s), (s), -, -, -, -, -, (k); `of`: the
 *   class of each subclass, null if the classes have none
 * @typedef {{logPrior: Float32Array, means: Float32Array, covariance: Float32Array, told: number[],
 *   wordMeans: Float32Array, wordVariances: Float32Array, temperature: number[], candidates: number,
 *   step: number, reach: number, most: number, negligible: number,
 *   least: number, rounding: number}} Scores  of shape (c), (c, k), (k, k), (w), (w, k), (w, k), (3)
 * @typedef {{cuts: Float32Array, deciles: Float32Array}} Scale  (k, 2) and (k, 9): what answers are
 *   called
 * @typedef {{pairs: Uint16Array}} PutOff  (p, 3): a question that was asked, one that is not asked
 *   after it, and after which answer: 0 any, 1 yes, 2 no, 3 not sure
 * @typedef {{widths: [number, number], outputs: number, epsilon: number,
 *   first: Affine, second: Affine, head: Affine}} Layers
 * @typedef {{weight: Float32Array, bias: Float32Array, scale: Float32Array, shift: Float32Array}}
 *   Affine  a linear layer and the norm after it; the head has none
 * @typedef {{right: number | null, answered: number}} Truth
 * @typedef {{name: string, kind: "naive_bayes" | "gaussian" | "networks" | "server", classes: string[],
 *   queries: string[], questions: string[], origins: (string | null)[], first: number | null,
 *   stop: Stop, levels: number | null, words: string[][] | null, cuts: number[][] | null,
 *   table: Table | null, scores: Scores | null, scale: Scale | null,
 *   networks: {querier: Layers, classifier: Layers} | null, truth: (Truth | null)[] | null,
 *   knowledge: Knowledge | null, sees: boolean, note: string | null, k: number,
 *   c: number}} Model
 * @typedef {{texts: string[], columns: number[], values: Uint8Array}} Knowledge  values (c, u): 0 not
 *   true, 1 true of some pictures, 2 true, 3 not known
 * @typedef {{id: string, label: number | null, thumbnail: string | null,
 *   packed: string, places: Places | null, unusual: number | null}} Picture  `packed`: its answers
 * @typedef {{size: [number, number], seen: number[], maps: Map<number, Uint8Array>}} Places  where
 *   answers yes come from: a map (h, w) by query, of the part left, top, right, bottom of a picture
 * @typedef {{labels: Uint16Array, packed: string}} Scored
 * @typedef {{title: string, served: boolean, key: boolean, annotate: boolean, noun: string,
 *   model: Model,
 *   test: Picture[], train: Picture[], scored: Scored, fitted: number}} Payload
 *   `fitted`: on how many of the test images a model was fitted
 */

const FORMAT = 1;

/** What is wrong with the document, in one sentence. */
export class PayloadError extends Error {}

/** @param {string} text @returns {Uint8Array} */
function bytesOf(text) {
  return Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
}

/** @param {string} text @returns {Float32Array} */
function floatsOf(text) {
  const view = new DataView(bytesOf(text).buffer);
  return Float32Array.from({ length: view.byteLength / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

/** @param {string} text @returns {Uint16Array} */
function numbersOf(text) {
  const view = new DataView(bytesOf(text).buffer);
  return Uint16Array.from({ length: view.byteLength / 2 }, (_, i) => view.getUint16(2 * i, true));
}

/** A table whose rates are places in a palette of each question.
 * @param {any} raw
 * @param {number} k
 * @param {number} c
 * @param {number} levels
 * @returns {Float32Array} (levels, k, c) */
function coloredOf(raw, k, c, levels) {
  const codes = bytesOf(raw.log_likelihood);
  const palette = floatsOf(raw.palette);
  const colors = palette.length / (k * levels);
  return Float32Array.from({ length: levels * k * c }, (_, i) => {
    const place = i % (k * c);
    const color = Math.floor(place / c) * colors + codes[place];
    return palette[color * levels + Math.floor(i / (k * c))];
  });
}

// The logarithm of what is as good as impossible: an answer that a question does not have.
const NEVER = -100;

/** A table with rates of the answers alone that have a word.
 * @param {string} text
 * @param {string[][]} words
 * @param {number} c
 * @param {number} levels
 * @returns {Float32Array} (levels, k, c) */
function saidOf(text, words, c, levels) {
  const [said, k] = [floatsOf(text), words.length];
  const table = new Float32Array(levels * k * c).fill(NEVER);
  let place = 0;
  for (let level = 0; level < levels; level++) {
    for (let query = 0; query < k; query++) {
      if (!words[query][level]) continue;
      table.set(said.subarray(place, place + c), (level * k + query) * c);
      place += c;
    }
  }
  return table;
}

/** Bits of one answer. @param {number} levels */
function bitsOf(levels) {
  return levels <= 4 ? 2 : levels <= 16 ? 4 : 8;
}

/** The answers of rows of images, in [0, 1]: levels of 2, 4 or 8 bits, or soft answers as they are.
 * @param {string} text
 * @param {Model} model
 * @param {number} rows
 * @returns {Float32Array} (rows * k) */
export function answersOf(text, { k, levels }, rows) {
  if (levels === null) return floatsOf(text);
  const [bytes, bits] = [bytesOf(text), bitsOf(levels)];
  const width = Math.ceil((k * bits) / 8);
  return Float32Array.from({ length: rows * k }, (_, i) => {
    const bit = bits * (i % k);
    const byte = bytes[Math.floor(i / k) * width + (bit >> 3)];
    return ((byte >> (bit & 7)) & (2 ** bits - 1)) / (levels - 1);
  });
}

/** @param {any} raw @returns {Layers} */
function layersOf(raw) {
  /** @type {(name: string) => Affine} */
  const affine = (name) => ({
    weight: floatsOf(raw[`${name}_weight`]),
    bias: floatsOf(raw[`${name}_bias`]),
    scale: floatsOf(raw[`${name}_scale`] ?? ""),
    shift: floatsOf(raw[`${name}_shift`] ?? ""),
  });
  const { widths, outputs, epsilon } = raw;
  const [first, second, head] = ["first", "second", "head"].map(affine);
  return { widths, outputs, epsilon, first, second, head };
}

/** @param {any} raw @param {any} model @param {number} k @param {number} c @returns {Table} */
function tableOf(raw, { words, answers }, k, c) {
  const of = raw.of ? numbersOf(raw.of) : null;
  const [s, levels] = [of?.length ?? c, answers ?? 2];
  return {
    of,
    logLikelihood: raw.palette
      ? coloredOf(raw, k, s, levels)
      : words
        ? saidOf(raw.log_likelihood, words, s, levels)
        : floatsOf(raw.log_likelihood),
    logPrior: floatsOf(raw.log_prior),
    independentAnswers: raw.independent_answers ?? Infinity,
    evidenceWeight: raw.evidence_weight,
    growth: raw.growth,
    temperatureRatio: raw.temperature_ratio,
    priorExponent: raw.prior_exponent,
    putOff: raw.put_off && { pairs: numbersOf(raw.put_off.pairs) },
    rounding: raw.rounding,
    costs: raw.costs,
  };
}

/** @param {any} raw @returns {Model} */
function modelOf(raw) {
  const [k, c] = [raw.queries.length, raw.classes.length];
  const table = raw.table && tableOf(raw.table, raw, k, c);
  const networks = raw.networks && {
    querier: layersOf(raw.networks.querier),
    classifier: layersOf(raw.networks.classifier),
  };
  const knowledge = raw.knowledge && knowledgeOf(raw.knowledge, c);
  const scores = raw.scores && scoresOf(raw.scores);
  const scale = raw.scale && {
    cuts: floatsOf(raw.scale.cuts),
    deciles: floatsOf(raw.scale.deciles),
  };
  return { ...raw, levels: raw.answers, table, scores, scale, networks, knowledge, k, c };
}

/** @param {any} raw @returns {Scores} */
function scoresOf(raw) {
  return {
    ...raw,
    logPrior: floatsOf(raw.log_prior),
    means: floatsOf(raw.means),
    covariance: floatsOf(raw.covariance),
    wordMeans: floatsOf(raw.word_means),
    wordVariances: floatsOf(raw.word_variances),
  };
}

/** @param {any} raw @param {number} c @returns {Knowledge} */
function knowledgeOf({ texts, columns, values }, c) {
  const bytes = bytesOf(values);
  const width = Math.ceil(texts.length / 4);
  const cells = Uint8Array.from({ length: c * texts.length }, (_, cell) => {
    const [y, text] = [Math.floor(cell / texts.length), cell % texts.length];
    return (bytes[y * width + (text >> 2)] >> (2 * (text & 3))) & 3;
  });
  return { texts, columns, values: cells };
}

/** @param {any} raw @returns {Picture} */
export function pictureOf({ label = null, answers, places, ...more }) {
  return { ...more, label, packed: answers, places: places && placesOf(places) };
}

/** @param {any} raw @returns {Places} */
function placesOf({ size, seen, queries, maps }) {
  const all = bytesOf(maps);
  const each = size[0] * size[1];
  const map = (/** @type {number} */ i) => all.subarray(i * each, (i + 1) * each);
  return { size, seen, maps: new Map(Array.from(numbersOf(queries), (q, i) => [q, map(i)])) };
}

/** The document as the page uses it.
 * @param {string} text JSON
 * @returns {Payload}
 * @throws {PayloadError} it is not such a document */
export function readPayload(text) {
  /** @type {any} */
  let raw;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw new PayloadError(`The data of this page are cut off or damaged (${String(error)})`);
  }
  if (raw.format !== FORMAT) {
    throw new PayloadError(`format: ${raw.format}; expected ${FORMAT}`);
  }
  const { test, train, scored, fitted } = raw.images;
  return {
    ...raw,
    model: modelOf(raw.model),
    test: test.map(pictureOf),
    train: train.map(pictureOf),
    scored: { labels: numbersOf(scored.labels), packed: scored.answers },
    fitted,
  };
}
