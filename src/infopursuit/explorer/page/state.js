// @ts-check
// What the page shows, as the part of its address after the #: a link restores all of it.

/** @import { Payload } from "./payload.js" */
/** @import { Answered } from "./pursuit.js" */

/**
 * @typedef {"image" | "you" | "classes" | "dictionary" | "failures" | "annotate"} ViewName
 * @typedef {{view: ViewName, image: string | null,
 *   given: Map<number, number>, struck: Set<number>, chosen: Map<number, number>,
 *   sure: number | null, most: number | "all" | null,
 *   known: Map<number, number>, classes: Set<number> | null, you: Answered[], was: number | null, shown: number | null, beside: number | null,
 *   truth: number | null, said: number | null, asked: number | null,
 *   shortest: number | null, longest: number | null, all: boolean, long: boolean, together: boolean,
 *   below: number}} State
 *   `sure`: stop at this probability in percent; `most`: ask at most this many; null for the model's
 *   own; `known`: answers that a person knows before the first question; `classes`: those that are
 *   possible, null for all; `you`: a person's answers; `was`: the class that the person thought of; `shown`, `beside`:
 *   the class shown, and another next to it; from `truth` to `all`: filters of failures; `together`:
 *   a picture answers, and a person what it is less certain of than `below` percent; `long`:
 *   answers that changed little have a row each, too
 */

/** @type {ViewName[]} */
export const VIEWS = ["image", "you", "classes", "dictionary", "failures"];

/** The views of a page: a key only asks, as annotating does. @param {Payload} payload @returns {ViewName[]} */
export function viewsOf({ key, annotate }) {
  if (annotate) return ["annotate"];
  if (key) return ["you"];
  return VIEWS;
}

const LETTERS = /** @type {Record<string, number>} */ ({ y: 1, n: 0, u: 0.5, p: 0.75, q: 0.25 });

/** Filters of failures that let every wrong prediction through. */
export const NO_FILTERS = {
  truth: null,
  said: null,
  asked: null,
  shortest: null,
  longest: null,
  all: false,
};

// Percent: yes and no are certain to 100, probably and probably not to 75, not sure to 50.
const ASK_BELOW = 80;

/** @returns {State} */
export function emptyState() {
  return {
    view: "image",
    image: null,
    given: new Map(),
    struck: new Set(),
    chosen: new Map(),
    sure: null,
    most: null,
    known: new Map(),
    classes: null,
    you: [],
    was: null,
    shown: null,
    beside: null,
    long: false,
    together: false,
    below: ASK_BELOW,
    ...NO_FILTERS,
  };
}

// Of questions with words of their own, any answer in thousandths.
const ANSWERED = /^(\d+)(?:([ynupq])|v(\d{1,3}))$/;

/** @param {Iterable<[number, number]>} answers @returns {string} 3y.5n.7v333 */
function answersText(answers) {
  const letter = (/** @type {number} */ value) =>
    Object.keys(LETTERS).find((each) => LETTERS[each] === value) ?? `v${Math.round(1000 * value)}`;
  return Array.from(answers, ([query, value]) => `${query}${letter(value)}`).join(".");
}

/** @param {State} state @returns {string} without the # */
export function hashOf(state) {
  const parts = new URLSearchParams();
  const put = (/** @type {string} */ key, /** @type {string | number | null} */ value) => {
    if (value !== null && value !== "") parts.set(key, String(value));
  };
  put("view", state.view);
  put("image", state.image);
  put("set", answersText(state.given));
  put("strike", [...state.struck].sort((a, b) => a - b).join("."));
  put("ask", Array.from(state.chosen, ([step, query]) => `${step}-${query}`).join("."));
  put("sure", state.sure);
  put("most", state.most);
  put("known", answersText(state.known));
  put("classes", [...(state.classes ?? [])].sort((a, b) => a - b).join("."));
  put("you", answersText(state.you.map(({ query, answer }) => [query, answer])));
  for (const key of NUMBERS) put(key === "shown" ? "class" : key, state[key]);
  put("all", state.all ? 1 : null);
  put("long", state.long ? 1 : null);
  put("with", state.together ? 1 : null);
  put("below", state.below === ASK_BELOW ? null : state.below);
  return parts.toString();
}

const NUMBERS = /** @type {const} */ ([
  "was",
  "shown",
  "beside",
  "truth",
  "said",
  "asked",
  "shortest",
  "longest",
]);

/** The state that an address holds. What cannot be is left out and named.
 * @param {string} hash with or without the #
 * @param {Payload} payload
 * @returns {{state: State, problems: string[]}} */
export function readHash(hash, payload) {
  const state = emptyState();
  /** @type {string[]} */
  const problems = [];
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const wrong = (/** @type {string} */ key) => problems.push(`${key}=${parts.get(key)}`);
  /** @param {string} text @param {number} end @returns {number | null} */
  const number = (text, end) =>
    /^\d{1,7}$/.test(text) && Number(text) < end ? Number(text) : null;
  /** @param {string} key @param {number} end */
  const whole = (key, end) => {
    const text = parts.get(key);
    if (text === null) return null;
    const value = number(text, end);
    if (value === null) wrong(key);
    return value;
  };
  const views = viewsOf(payload);
  state.view = views[0];
  const view = /** @type {ViewName} */ (parts.get("view") ?? views[0]);
  if (views.includes(view)) state.view = view;
  else wrong("view");
  const { k, c, levels, words } = payload.model;
  /** @param {string} letter @param {string} thousandths */
  const valueOf = (letter, thousandths) => {
    const top = (levels ?? 2) - 1;
    // Answers of images are in single precision.
    if (letter && !words) return LETTERS[letter];
    const value = letter ? LETTERS[letter] : Number(thousandths) / 1000;
    return Math.fround(Math.round(value * top) / top);
  };
  state.image = parts.get("image");
  /** @param {string} key @param {RegExp} shape @param {(found: RegExpMatchArray) => boolean} take */
  const entries = (key, shape, take) => {
    for (const entry of (parts.get(key) ?? "").split(".").filter(Boolean)) {
      const found = entry.match(shape);
      if (!found || !take(found)) problems.push(`${key}=${entry}`);
    }
  };
  /** @param {string} query @param {number} answer */
  const possible = (query, answer) =>
    number(query, k) !== null &&
    (!words || !!words[Number(query)][Math.round(answer * ((levels ?? 2) - 1))]);
  for (const [key, map] of /** @type {const} */ ([
    ["set", state.given],
    ["known", state.known],
  ])) {
    entries(key, ANSWERED, ([, query, letter, thousandths]) => {
      const answer = valueOf(letter, thousandths);
      const valid = possible(query, answer);
      if (valid) map.set(Number(query), answer);
      return valid;
    });
  }
  entries("classes", /^(\d+)$/, ([, y]) => {
    const valid = number(y, c) !== null;
    if (valid) state.classes = new Set([...(state.classes ?? []), Number(y)]);
    return valid;
  });
  entries("strike", /^(\d+)$/, ([, query]) => {
    const valid = number(query, k) !== null;
    if (valid) state.struck.add(Number(query));
    return valid;
  });
  entries("ask", /^(\d+)-(\d+)$/, ([, step, query]) => {
    const valid = number(step, k) !== null && number(query, k) !== null;
    if (valid) state.chosen.set(Number(step), Number(query));
    return valid;
  });
  entries("you", ANSWERED, ([, query, letter, thousandths]) => {
    const again =
      state.known.has(Number(query)) || state.you.some((each) => each.query === Number(query));
    const answer = valueOf(letter, thousandths);
    const valid = possible(query, answer) && !again;
    if (valid) state.you.push({ query: Number(query), answer });
    return valid;
  });
  state.sure = whole("sure", 101);
  const most = parts.get("most");
  state.most = most === "all" ? "all" : whole("most", k + 1);
  state.was = whole("was", c);
  state.shown = whole("class", c);
  state.beside = whole("beside", c);
  state.truth = whole("truth", c);
  state.said = whole("said", c);
  state.asked = whole("asked", k);
  state.shortest = whole("shortest", k + 1);
  state.longest = whole("longest", k + 1);
  state.all = parts.get("all") === "1";
  state.long = parts.get("long") === "1";
  state.together = parts.get("with") === "1";
  state.below = whole("below", 101) ?? ASK_BELOW;
  return { state, problems };
}

/** Choices of questions up to a step; what came after was chosen by the answers before it.
 * @param {ReadonlyMap<number, number>} chosen @param {number} place @returns {Map<number, number>} */
export function chosenUpTo(chosen, place) {
  return new Map([...chosen].filter(([step]) => step <= place));
}
