// @ts-check
// The document that the page shows, read and checked: base64 becomes typed arrays.
// `src/infopursuit/explorer/payload.py` defines the format.

/**
 * @typedef {{probability: number | null, max_queries: number | null, entropy: number | null,
 *   stability: number | null}} Stop  what is null plays no part
 * @typedef {{of: Uint16Array | null, logLikelihood: Float32Array, logPrior: Float32Array,
 *   independentAnswers: number, evidenceWeight: number, growth: number, spread: number,
 *   priorWear: number, worth: Float32Array | null, putOff: PutOff | null, rounding: number,
 *   costs: number[] | null}} Table  of shape (s), (levels, k, s), (s), -, -, -, -, -, (k); `of`: the
 *   class of each subclass, null if the classes have none
 * @typedef {{pairs: Uint16Array}} PutOff  (p, 3): a question that was asked, one that is not asked
 *   after it, and after which answer: 0 any, 1 yes, 2 no, 3 not sure
 * @typedef {{widths: [number, number], outputs: number, epsilon: number,
 *   first: Affine, second: Affine, head: Affine}} Layers
 * @typedef {{weight: Float32Array, bias: Float32Array, scale: Float32Array, shift: Float32Array}}
 *   Affine  a linear layer and the norm after it; the head has none
 * @typedef {{logLikelihood: Float32Array, heldOut: Float32Array, rounding: number,
 *   unfamiliar: number}} Familiar
 * @typedef {{right: number | null, answered: number}} Truth
 * @typedef {{name: string, kind: "naive_bayes" | "networks", classes: string[],
 *   queries: string[], questions: string[], origins: (string | null)[], first: number | null,
 *   stop: Stop, levels: number | null, words: string[][] | null, cuts: number[][] | null,
 *   table: Table | null,
 *   networks: {querier: Layers, classifier: Layers} | null, truth: (Truth | null)[] | null,
 *   knowledge: Knowledge | null, familiar: Familiar | null, sees: boolean, note: string | null, k: number,
 *   c: number}} Model
 * @typedef {{texts: string[], columns: number[], values: Uint8Array}} Knowledge  values (c, u): 0 not
 *   true, 1 true of some pictures, 2 true, 3 not known
 * @typedef {{id: string, label: number | null, thumbnail: string | null,
 *   packed: string, places: Places | null}} Picture  `packed`: its answers
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

/**
 * @param {boolean} holds
 * @param {string} where
 * @param {string} problem
 * @returns {asserts holds}
 */
function expect(holds, where, problem) {
  if (!holds) throw new PayloadError(`${where}: ${problem}`);
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, any>}
 */
function isRecord(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * @param {unknown} text
 * @param {string} where
 * @returns {Uint8Array}
 */
function bytesOf(text, where) {
  expect(typeof text === "string", where, "expected base64 text");
  /** @type {string} */
  let binary;
  try {
    binary = atob(text);
  } catch {
    throw new PayloadError(`${where}: no base64 text`);
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/**
 * @param {unknown} text
 * @param {number} count how many numbers there must be
 * @param {string} where
 * @returns {Float32Array}
 */
function floatsOf(text, count, where) {
  const bytes = bytesOf(text, where);
  expect(
    count < 0 ? bytes.length % 4 === 0 : bytes.length === 4 * count,
    where,
    `${bytes.length / 4} numbers; expected ${count}`,
  );
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

/**
 * @param {unknown} text
 * @param {string} where
 * @returns {Uint16Array}
 */
function numbersOf(text, where) {
  const bytes = bytesOf(text, where);
  expect(bytes.length % 2 === 0, where, `${bytes.length} bytes; expected an even number`);
  const view = new DataView(bytes.buffer);
  return Uint16Array.from({ length: bytes.length / 2 }, (_, i) => view.getUint16(2 * i, true));
}

/**
 * A table whose rates are places in a palette of each question.
 * @param {any} raw
 * @param {number} k
 * @param {number} c
 * @param {number} levels
 * @param {string} where
 * @returns {Float32Array} (levels, k, c)
 */
function coloredOf(raw, k, c, levels, where) {
  const codes = bytesOf(raw.log_likelihood, `${where}.log_likelihood`);
  expect(codes.length === k * c, where, `${codes.length} codes; expected ${k * c}`);
  const palette = floatsOf(raw.palette, -1, `${where}.palette`);
  const colors = palette.length / (k * levels);
  const table = new Float32Array(levels * k * c);
  for (let query = 0; query < k; query++) {
    for (let y = 0; y < c; y++) {
      const place = query * c + y;
      expect(codes[place] < colors, where, `code ${codes[place]}; expected 0 to ${colors - 1}`);
      for (let level = 0; level < levels; level++) {
        table[level * k * c + place] = palette[(query * colors + codes[place]) * levels + level];
      }
    }
  }
  return table;
}

// The logarithm of what is as good as impossible: an answer that a question does not have.
const NEVER = -100;

/**
 * A table with rates of the answers alone that have a word.
 * @param {string} text
 * @param {string[][]} words
 * @param {number} c
 * @param {number} levels
 * @param {string} where
 * @returns {Float32Array} (levels, k, c)
 */
function saidOf(text, words, c, levels, where) {
  const k = words.length;
  const said = floatsOf(text, c * words.flat().filter(Boolean).length, where);
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

/** @param {any} costs @param {number} k @param {string} where @returns {number[] | null} */
function costsOf(costs, k, where) {
  const fits = costs === null || (Array.isArray(costs) && costs.length === k);
  expect(fits && (costs ?? []).every(Number.isFinite), where, `expected ${k} numbers`);
  return costs;
}

/**
 * @param {any} raw
 * @param {number} k
 * @param {string} where
 * @returns {PutOff | null}
 */
function putOffOf(raw, k, where) {
  if (raw === null) return null;
  expect(isRecord(raw), where, "expected pairs, or null");
  const pairs = numbersOf(raw.pairs, `${where}.pairs`);
  const known = pairs.length % 3 === 0 && pairs.every((each, i) => each < (i % 3 === 2 ? 4 : k));
  expect(known, `${where}.pairs`, `expected pairs of questions 0 to ${k - 1}`);
  return { pairs };
}

/** Bits of one answer. @param {number} levels */
function bitsOf(levels) {
  return levels <= 4 ? 2 : levels <= 16 ? 4 : 8;
}

/** Bytes of one row of answers. @param {Model} model */
function widthOf(model) {
  return model.levels === null ? 4 * model.k : Math.ceil((model.k * bitsOf(model.levels)) / 8);
}

/**
 * The answers of rows of images, in [0, 1]: levels of 2, 4 or 8 bits, or soft answers as they are.
 * @param {string} text
 * @param {Model} model
 * @param {number} rows
 * @param {string} where
 * @returns {Float32Array} (rows * k)
 */
export function answersOf(text, model, rows, where) {
  const bytes = bytesOf(text, where);
  const width = widthOf(model);
  expect(bytes.length === rows * width, where, `${bytes.length} bytes; expected ${rows * width}`);
  const { k, levels } = model;
  const answers = new Float32Array(rows * k);
  const view = new DataView(bytes.buffer);
  for (let row = 0; row < rows; row++) {
    for (let query = 0; query < k; query++) {
      if (levels === null) {
        answers[row * k + query] = view.getFloat32(4 * (row * k + query), true);
      } else {
        const bit = bitsOf(levels) * query;
        const level = (bytes[row * width + (bit >> 3)] >> (bit & 7)) & (2 ** bitsOf(levels) - 1);
        expect(
          level < levels,
          where,
          `level ${level} of query ${query}; expected 0 to ${levels - 1}`,
        );
        answers[row * k + query] = level / (levels - 1);
      }
    }
  }
  return answers;
}

/** @param {any} value @param {string} where @returns {string} */
function textOf(value, where) {
  expect(typeof value === "string", where, "expected a text");
  return value;
}

/**
 * @param {any} value
 * @param {string} where
 * @param {number} length -1 for any
 * @returns {string[]}
 */
function textsOf(value, where, length) {
  expect(Array.isArray(value), where, "expected a list");
  expect(
    length < 0 || value.length === length,
    where,
    `${value.length} entries; expected ${length}`,
  );
  for (const each of value) expect(typeof each === "string", where, "expected texts");
  return value;
}

/**
 * @param {any} raw
 * @param {number} k
 * @param {string} where
 * @returns {Layers}
 */
function layersOf(raw, k, where) {
  expect(isRecord(raw), where, "expected layers");
  const [h1, h2] = raw.widths ?? [];
  expect(h1 > 0 && h2 > 0 && raw.outputs > 0, where, "expected widths and outputs");
  /** @type {(name: string, count: number) => Float32Array} */
  const read = (name, count) => floatsOf(raw[name], count, `${where}.${name}`);
  return {
    widths: [h1, h2],
    outputs: raw.outputs,
    epsilon: raw.epsilon,
    first: {
      weight: read("first_weight", h1 * k),
      bias: read("first_bias", h1),
      scale: read("first_scale", h1),
      shift: read("first_shift", h1),
    },
    second: {
      weight: read("second_weight", h2 * h1),
      bias: read("second_bias", h2),
      scale: read("second_scale", h2),
      shift: read("second_shift", h2),
    },
    head: {
      weight: read("head_weight", raw.outputs * 2 * h2),
      bias: read("head_bias", raw.outputs),
      scale: new Float32Array(0),
      shift: new Float32Array(0),
    },
  };
}

/**
 * @param {any} raw
 * @param {string} where
 * @returns {Stop}
 */
function stopOf(raw, where) {
  expect(isRecord(raw), where, "expected a stopping rule");
  const { probability = null, max_queries = null, entropy = null, stability = null } = raw;
  for (const each of [probability, max_queries, entropy, stability]) {
    expect(each === null || typeof each === "number", where, "expected numbers or null");
  }
  return { probability, max_queries, entropy, stability };
}

/**
 * @param {any} raw
 * @param {string} where
 * @returns {Model}
 */
function modelOf(raw, where) {
  expect(isRecord(raw), where, "expected a model");
  textOf(raw.name, `${where}.name`);
  const classes = textsOf(raw.classes, `${where}.classes`, -1);
  const queries = textsOf(raw.queries, `${where}.queries`, -1);
  expect(
    queries.length > 0,
    `${where}.queries`,
    "the model has no question; expected at least one",
  );
  expect(classes.length > 0, `${where}.classes`, "the model has no class; expected at least one");
  const [k, c] = [queries.length, classes.length];
  const levels = raw.answers;
  const known = levels === null || (Number.isInteger(levels) && levels >= 2 && levels <= 255);
  expect(known, `${where}.answers`, `${levels}; expected 2 to 255, or null`);
  const words = raw.words ?? null;
  if (words !== null) {
    expect(words.length === k, `${where}.words`, `of ${words.length} questions; expected ${k}`);
    for (const each of words) textsOf(each, `${where}.words`, levels);
  }
  const cuts = raw.cuts ?? null;
  expect(cuts === null || cuts.length === k, `${where}.cuts`, `expected those of ${k} questions`);
  const { first } = raw;
  expect(
    first === null || (Number.isInteger(first) && first >= 0 && first < k),
    `${where}.first`,
    `${first}; expected the number of a question, or null`,
  );
  /** @type {Table | null} */
  let table = null;
  if (raw.table) {
    const at = `${where}.table`;
    const of = raw.table.of ? numbersOf(raw.table.of, `${at}.of`) : null;
    expect(!of?.some((each) => each >= c), `${at}.of`, `expected classes 0 to ${c - 1}`);
    const s = of?.length ?? c;
    table = {
      of,
      logLikelihood: raw.table.palette
        ? coloredOf(raw.table, k, s, levels ?? 2, at)
        : words
          ? saidOf(raw.table.log_likelihood, words, s, levels, `${at}.log_likelihood`)
          : floatsOf(raw.table.log_likelihood, (levels ?? 2) * k * s, `${at}.log_likelihood`),
      logPrior: floatsOf(raw.table.log_prior, s, `${at}.log_prior`),
      independentAnswers: raw.table.independent_answers ?? Infinity,
      evidenceWeight: raw.table.evidence_weight ?? 1,
      growth: raw.table.growth ?? 1,
      spread: raw.table.spread ?? 1,
      priorWear: raw.table.prior_wear ?? 1,
      worth: raw.table.worth === null ? null : floatsOf(raw.table.worth, k, `${at}.worth`),
      putOff: putOffOf(raw.table.put_off ?? null, k, `${at}.put_off`),
      rounding: raw.table.rounding,
      costs: costsOf(raw.table.costs ?? null, k, `${at}.costs`),
    };
  }
  expect(
    raw.kind === (table ? "naive_bayes" : "networks"),
    `${where}.kind`,
    `${raw.kind} ${table ? "with" : "without"} a table`,
  );
  const networks = raw.networks && {
    querier: layersOf(raw.networks.querier, k, `${where}.networks.querier`),
    classifier: layersOf(raw.networks.classifier, k, `${where}.networks.classifier`),
  };
  const familiar = raw.familiar && {
    logLikelihood:
      raw.familiar.log_likelihood === null
        ? (table?.logLikelihood ?? new Float32Array(0))
        : floatsOf(raw.familiar.log_likelihood, -1, `${where}.familiar.log_likelihood`),
    heldOut: floatsOf(raw.familiar.held_out, -1, `${where}.familiar.held_out`),
    rounding: raw.familiar.rounding,
    unfamiliar: raw.familiar.unfamiliar,
  };
  const knowledge = raw.knowledge && knowledgeOf(raw.knowledge, k, c, `${where}.knowledge`);
  return {
    name: raw.name,
    kind: raw.kind,
    classes,
    queries,
    questions: textsOf(raw.questions, `${where}.questions`, k),
    origins: raw.origins,
    first,
    stop: stopOf(raw.stop, `${where}.stop`),
    levels,
    words,
    cuts,
    table,
    networks,
    truth: raw.truth,
    knowledge: knowledge ?? null,
    familiar,
    sees: raw.sees === true,
    note: (raw.note ?? null) === null ? null : textOf(raw.note, `${where}.note`),
    k,
    c,
  };
}

/** @param {any} raw @param {number} k @param {number} c @param {string} where @returns {Knowledge} */
function knowledgeOf(raw, k, c, where) {
  const texts = textsOf(raw.texts, `${where}.texts`, -1);
  const { columns } = raw;
  const fits =
    Array.isArray(columns) && columns.length === k && columns.every((each) => texts[each]);
  expect(fits, `${where}.columns`, `expected ${k} places in ${texts.length} texts`);
  const bytes = bytesOf(raw.values, `${where}.values`);
  const width = Math.ceil(texts.length / 4);
  expect(bytes.length === c * width, `${where}.values`, `expected ${c * width} bytes`);
  const values = Uint8Array.from({ length: c * texts.length }, (_, cell) => {
    const [y, text] = [Math.floor(cell / texts.length), cell % texts.length];
    return (bytes[y * width + (text >> 2)] >> (2 * (text & 3))) & 3;
  });
  return { texts, columns, values };
}

/**
 * @param {any} raw
 * @param {string} where
 * @returns {Picture}
 */
export function pictureOf(raw, where) {
  expect(isRecord(raw) && typeof raw.id === "string", where, "expected an image with an id");
  const { id, thumbnail } = raw;
  const label = raw.label ?? null;
  expect(label === null || Number.isInteger(label), `${where}.label`, "expected a class number");
  // Nothing else is ever put into the address of a picture.
  expect(
    thumbnail === null || /^data:image\/(webp|png|jpeg);base64,[A-Za-z0-9+/=]+$/.test(thumbnail),
    `${where}.thumbnail`,
    "expected a picture as data",
  );
  const packed = textOf(raw.answers, `${where}.answers`);
  const places = raw.places ? placesOf(raw.places, `${where}.places`) : null;
  return { id, label, thumbnail, packed, places };
}

/** @param {any} raw @param {string} where @returns {Places} */
function placesOf(raw, where) {
  const { size, seen } = raw;
  expect(size?.length === 2 && seen?.length === 4, where, "expected a size and a part");
  const queries = numbersOf(raw.queries, `${where}.queries`);
  const all = bytesOf(raw.maps, `${where}.maps`);
  const each = size[0] * size[1];
  expect(all.length === queries.length * each, where, `${all.length} bytes in its maps`);
  const maps = Array.from(queries, (query, i) => all.subarray(i * each, (i + 1) * each));
  return { size, seen, maps: new Map(maps.map((map, i) => [queries[i], map])) };
}

/**
 * The document as the page uses it.
 * @param {string} text JSON
 * @returns {Payload}
 * @throws {PayloadError} it is not such a document
 */
export function readPayload(text) {
  /** @type {any} */
  let raw;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw new PayloadError(`The data of this page are cut off or damaged (${String(error)})`);
  }
  expect(isRecord(raw), "payload", "expected a document");
  expect(raw.format === FORMAT, "format", `${raw.format}; expected ${FORMAT}`);
  expect(isRecord(raw.images), "images", "expected images");
  /** @type {(split: "test" | "train") => Picture[]} */
  const split = (name) => {
    expect(Array.isArray(raw.images[name]), `images.${name}`, "expected a list");
    return raw.images[name].map((/** @type {any} */ each, /** @type {number} */ i) =>
      pictureOf(each, `images.${name}.${i}`),
    );
  };
  const { labels, answers } = raw.images.scored ?? {};
  return {
    title: String(raw.title),
    served: raw.served === true,
    key: raw.key === true,
    annotate: raw.annotate === true,
    noun: String(raw.noun ?? "image"),
    model: modelOf(raw.model, "model"),
    test: split("test"),
    train: split("train"),
    scored: {
      labels: numbersOf(labels, "images.scored.labels"),
      packed: textOf(answers, "images.scored.answers"),
    },
    fitted: Number(raw.images.fitted ?? 0),
  };
}
