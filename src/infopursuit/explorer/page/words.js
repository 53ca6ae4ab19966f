// @ts-check
// Numbers and answers in words.

/** @import { Model, Stop } from "./payload.js" */

/** @param {number} share in [0, 1] */
export function percent(share) {
  if (share > 0 && share < 0.005) return "< 1 %";
  if (share < 1 && share >= 0.995) return "> 99 %";
  return `${Math.round(100 * share)} %`;
}

/** With one decimal. @param {number} share in [0, 1] */
export function precisePercent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

/** @param {number} value in nats */
export function nats(value) {
  return `${value.toFixed(value < 0.01 ? 3 : 2)} nats`;
}

/** @param {number} answer in [0, 1] @returns {"yes" | "no" | "not sure"} */
export function answerWord(answer) {
  if (answer === 0.5) return "not sure";
  return answer > 0.5 ? "yes" : "no";
}

/** The same, a soft one with its value. @param {number} answer in [0, 1] */
export function answerText(answer) {
  const word = answerWord(answer);
  return [0, 0.5, 1].includes(answer) ? word : `${word} ${answer.toFixed(2)}`;
}

/** Answers of a person, as numbers. */
export const ANSWERS = /** @type {const} */ ([
  { word: "yes", value: 1, letter: "y" },
  { word: "no", value: 0, letter: "n" },
  { word: "not sure", value: 0.5, letter: "u" },
]);

/** @param {number} count @param {string} noun @param {string} [plural] */
export function counted(count, noun, plural = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

/** a zebra, an elephant @param {string} noun */
export function withArticle(noun) {
  return `${/^[aeiou]/i.test(noun) ? "an" : "a"} ${noun}`;
}

/** @param {string[]} words */
export function listed(words) {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

/** When the questions end. @param {Stop} stop */
export function stopsWhen(stop) {
  const conditions = [];
  if (stop.probability !== null) {
    conditions.push(`at a probability of ${Number((100 * stop.probability).toFixed(2))} %`);
  }
  if (stop.entropy !== null) conditions.push(`at an entropy of ${stop.entropy} nats`);
  if (stop.stability !== null) {
    conditions.push(`when ${counted(stop.stability, "question")} did not change the prediction`);
  }
  if (stop.max_queries !== null) conditions.push(`after ${counted(stop.max_queries, "question")}`);
  return conditions.length ? conditions.join(" or ") : "when all questions have been asked";
}

/**
 * The most probable classes in words: "zebra 50 %, horse 45 %".
 * @param {Model} model @param {ArrayLike<number>} posterior @param {number} [count]
 */
export function probableWords(model, posterior, count = 2) {
  return topClasses(posterior, count)
    .map((each) => `${model.classes[each]} ${percent(posterior[each])}`)
    .join(", ");
}

/** The most probable classes, the first of equals first. @param {ArrayLike<number>} posterior
 * @param {number} count @returns {number[]} */
export function topClasses(posterior, count) {
  const places = Array.from({ length: posterior.length }, (_, i) => i);
  return places.sort((a, b) => posterior[b] - posterior[a] || a - b).slice(0, count);
}
