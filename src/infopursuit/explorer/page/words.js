// @ts-check
// Numbers and answers in words.

/** @import { Model, Stop } from "./payload.js" */
/** @import { Plan } from "./pursuit.js" */

// A number and its unit stay on one line.
const SPACE = "\u00a0";

/** @param {number} share in [0, 1] */
export function percent(share) {
  if (share > 0 && share < 0.005) return `<${SPACE}1${SPACE}%`;
  if (share < 1 && share >= 0.995) return `>${SPACE}99${SPACE}%`;
  return `${Math.round(100 * share)}${SPACE}%`;
}

/** With one decimal. @param {number} share in [0, 1] */
export function precisePercent(share) {
  return `${(100 * share).toFixed(1)}${SPACE}%`;
}

/** @param {number} value in nats */
export function nats(value) {
  return `${value.toFixed(value < 0.01 ? 3 : 2)}${SPACE}nats`;
}

/** @param {number} answer in [0, 1] @returns {"yes" | "no" | "not sure"} */
export function answerWord(answer) {
  if (answer === 0.5) return "not sure";
  return answer > 0.5 ? "yes" : "no";
}

/**
 * The same, a soft one with its value; or the value of the column that a question is about.
 * @param {number} answer in [0, 1] @param {Model} model @param {number} query
 */
export function answerText(answer, { words, levels }, query) {
  if (words && levels) return words[query][Math.round(answer * (levels - 1))];
  const degree = DEGREES.find((each) => each.value === answer);
  if (degree) return degree.word;
  const word = answerWord(answer);
  return [0, 0.5, 1].includes(answer) ? word : `${word} ${answer.toFixed(2)}`;
}

/** Answers of a person, as numbers. */
export const ANSWERS = /** @type {const} */ ([
  { word: "yes", value: 1, letter: "y" },
  { word: "no", value: 0, letter: "n" },
  { word: "not sure", value: 0.5, letter: "u" },
]);

/** The same in five degrees: a person may be nearly sure. */
export const DEGREES = /** @type {const} */ ([
  { word: "yes", value: 1, letter: "y" },
  { word: "probably", value: 0.75, letter: "p" },
  { word: "not sure", value: 0.5, letter: "u" },
  { word: "probably not", value: 0.25, letter: "q" },
  { word: "no", value: 0, letter: "n" },
]);

/**
 * The answers that images give to a question, and what a person may change them to.
 * @param {Model} model @param {number} query
 * @returns {readonly {word: string, value: number, letter: string}[]}
 */
export function answersTo({ words, levels }, query) {
  if (!words || !levels) return levels === 5 ? DEGREES : ANSWERS;
  const [top, unsure] = [levels - 1, (levels - 1) / 2];
  const degrees = DEGREES.filter(({ word }) => words[query].includes(word));
  if (degrees.length === words[query].filter(Boolean).length) {
    return degrees.map((each) => ({
      ...each,
      value: Math.fround(words[query].indexOf(each.word) / top),
    }));
  }
  const cells = words[query].map((word, level) => ({ word, level }));
  return [...cells.filter(({ word, level }) => word && level !== unsure), cells[unsure]].map(
    ({ word, level }, place) => ({
      word,
      value: Math.fround(level / top),
      letter: String(place + 1),
    }),
  );
}

/** Whether an answer is yes, no or in between. @param {string} word */
export function isDegree(word) {
  return DEGREES.some((each) => each.word === word);
}

/** The class of style of an answer: the value of a column speaks for one class, against another.
 * @param {number} answer @param {Model} model @param {number} query */
export function answerClass(answer, model, query) {
  const value = model.words && answer !== 0.5 && !isDegree(answerText(answer, model, query));
  return value ? "value" : answerWord(answer).replace(" ", "-");
}

/** The answer that a number is, of a question for numbers. @param {Model} model
 * @param {number} query @param {number} number */
export function answerOf(model, query, number) {
  const above = (model.cuts?.[query] ?? []).filter((cut) => number > cut);
  return answersTo(model, query)[above.length].value;
}

/** A number as people type it: with a comma, or a minus sign; null for none.
 * @param {string} text */
export function typedNumber(text) {
  const plain = text.trim().replace(",", ".").replace("\u2212", "-");
  return plain && Number.isFinite(Number(plain)) ? Number(plain) : null;
}

/** @param {string} text */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** @param {number} count @param {string} noun @param {string} [plural] */
export function counted(count, noun, plural = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

// Probabilities that differ by less are equal, as explanations keep them.
const SAME = 5e-7;
// More classes than this are counted, not named.
const NAMED = 2;
// Columns of a fold that are named.
const COLUMNS = 3;

/**
 * The most probable class; classes that are equally probable are a tie.
 * @param {Model} model @param {ArrayLike<number>} posterior @returns {string}
 */
export function leaderName(model, posterior) {
  const highest = posterior[topClasses(posterior, 1)[0]];
  const leaders = model.classes.filter((_, y) => highest - posterior[y] < SAME);
  return leaders.length > NAMED ? `${leaders.length} classes tied` : leaders.join(" = ");
}

/**
 * What was answered in a row of steps that changed little: "9 answers of no moved zebra little".
 * @param {Model} model @param {Plan} plan @param {number[]} run
 */
export function changedLittle(model, plan, run) {
  const moved = `moved ${model.classes[topClasses(plan.posterior, 1)[0]]} little`;
  if (model.words) {
    const asked = run.map((place) => model.queries[plan.steps[place].query].replace(/\?+$/, ""));
    const more = asked.length > COLUMNS ? ` and ${asked.length - COLUMNS} more` : "";
    return `${run.length} answers ${moved}: ${asked.slice(0, COLUMNS).join(", ")}${more}`;
  }
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const place of run) {
    const { answer, query } = plan.steps[place];
    const said = answerText(answer, model, query);
    counts.set(said, (counts.get(said) ?? 0) + 1);
  }
  const [[first], ...others] = counts;
  if (!others.length) return `${run.length} answers of ${first} ${moved}`;
  const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([said, count]) => `${count} ${said}`);
  return `${run.length} answers ${moved}: ${parts.join(", ")}`;
}

/** When the questions end. @param {Stop} stop */
export function stopsWhen(stop) {
  const conditions = [];
  if (stop.probability !== null) {
    conditions.push(`at a probability of ${Number((100 * stop.probability).toFixed(2))}${SPACE}%`);
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
  const [first, ...others] = topClasses(posterior, count);
  const leader = leaderName(model, posterior);
  const said = `${leader} ${percent(posterior[first])}`;
  // After a tie the next ones are among those tied.
  const rest = leader === model.classes[first] ? others : [];
  return [said, ...rest.map((each) => `${model.classes[each]} ${percent(posterior[each])}`)].join(
    ", ",
  );
}

/** The most probable classes, the first of equals first. @param {ArrayLike<number>} posterior
 * @param {number} count @returns {number[]} */
export function topClasses(posterior, count) {
  // A few of thousands: cheaper than sorting all.
  /** @type {number[]} */
  const best = [];
  for (let y = 0; y < posterior.length; y++) {
    if (best.length >= count && posterior[y] <= posterior[best[count - 1]]) continue;
    let place = best.length;
    while (place > 0 && posterior[best[place - 1]] < posterior[y]) place--;
    best.splice(place, 0, y);
    if (best.length > count) best.pop();
  }
  return best;
}
