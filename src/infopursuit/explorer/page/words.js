// @ts-check
// Numbers and answers in words, and the sentences that Python has, too.

/** @import { Model } from "./payload.js" */
/** @import { Criterion, Plan } from "./pursuit.js" */

import { certain, largest, moved } from "./pursuit.js";

/** @type {{answers: Record<string, number>, sentences: Record<string, string | string[]>}} */
const WORDS = JSON.parse(document.getElementById("words")?.textContent ?? "");

/** A sentence of the table that Python reads, too: with its parts, some of which may be elements.
 * @template Part @param {string} name @param {Record<string, Part>} parts
 * @returns {(Part | string)[]} */
export function pieces(name, parts) {
  const forms = [WORDS.sentences[name]].flat();
  const form = forms[parts.count === 1 ? 0 : forms.length - 1];
  return form.split(/\{(.+?)\}/).map((each, place) => {
    if (place % 2 === 0) return each;
    const part = parts[each.replace(":,", "")];
    return each.endsWith(":,") ? Number(part).toLocaleString("en") : part;
  });
}

/** The same as a text. @param {string} name @param {Record<string, string | number>} [parts] */
export function say(name, parts = {}) {
  return pieces(name, parts).join("");
}

// A number and its unit stay on one line.
const SPACE = "\u00a0";

/** @param {number} share in [0, 1] @param {boolean} [down] rounded down: it missed a limit */
export function percent(share, down = false) {
  return inPercent(Math.floor(100 * share + (down ? 1e-6 : 0.5)), share);
}

/**
 * All shares of a whole in percent, so that the numbers sum to 100: the largest as `percent` says it;
 * of the others those with the largest remainders are rounded up, as many as it takes.
 * @param {number[]} shares
 */
export function percents(shares) {
  const units = shares.map((each) => Math.floor(100 * each + 1e-6)); // 100 * 0.29 is below 29
  const first = largest(shares);
  units[first] = Math.round(100 * shares[first]);
  const missing = 100 - units.reduce((sum, each) => sum + each, 0);
  const others = [...units.keys()]
    .filter((place) => place !== first)
    .sort((a, b) => units[a] - 100 * shares[a] - (units[b] - 100 * shares[b]));
  for (const place of others.slice(0, Math.max(0, missing))) units[place] += 1;
  return shares.map((share, place) => inPercent(units[place], share));
}

/** @param {number} units @param {number} share in [0, 1] */
function inPercent(units, share) {
  if (share > 0 && units <= 0) return `<${SPACE}1${SPACE}%`;
  if (share < 1 && units >= 100) return `>${SPACE}99${SPACE}%`;
  return `${units}${SPACE}%`;
}

/** With one decimal. @param {number} share in [0, 1] */
export function precisePercent(share) {
  return `${(100 * share).toFixed(1)}${SPACE}%`;
}

/** What decides between questions. @param {number} value @param {Criterion} criterion */
export function valueText(value, criterion) {
  if (criterion === "querier probability") return percent(value);
  const number = value.toFixed(value < 0.01 ? 3 : 2);
  return criterion === "information gain" ? say("nats", { value: number }) : number;
}

/** What something costs. @param {number} cost */
export function costText(cost) {
  return cost.toLocaleString("en", { maximumFractionDigits: 2 });
}

/** Answers of a person in five degrees, each with its key: one may be nearly sure. */
export const DEGREES = Object.entries(WORDS.answers)
  .map(([word, value]) => ({ word, value, letter: "nqupy"[4 * value] }))
  .reverse();

/** The same in three: yes, no, not sure. */
export const ANSWERS = [DEGREES[0], DEGREES[4], DEGREES[2]];

/** Which of the three an answer is. @param {number} answer in [0, 1] */
export function answerWord(answer) {
  return DEGREES[answer === 0.5 ? 2 : answer > 0.5 ? 0 : 4].word;
}

/** The same, a soft one with its value; or the value of the column that a question is about.
 * @param {number} answer in [0, 1] @param {Model} model @param {number} query */
export function answerText(answer, { words, levels, scale }, query) {
  if (scale && !DEGREES.some(({ value }) => value === answer)) {
    const { cuts, deciles } = scale;
    if (answer > 0.5) return answer > cuts[2 * query + 1] ? "yes" : "probably";
    if (answer <= cuts[2 * query]) return "no";
    const below = deciles.subarray(9 * query, 9 * query + 9).filter((each) => each < answer).length;
    return below > 4 ? say("more_than", { count: below }) : say("less_than", { count: 9 - below });
  }
  if (words && levels) return words[query][Math.round(answer * (levels - 1))];
  const degree = DEGREES.find((each) => each.value === answer);
  if (degree) return degree.word;
  const word = answerWord(answer);
  return [0, 0.5, 1].includes(answer) ? word : `${word} ${answer.toFixed(2)}`;
}

/** The answers that images give to a question, and what a person may change them to.
 * @param {Model} model @param {number} query
 * @returns {readonly {word: string, value: number, letter: string}[]} */
export function answersTo({ words, levels, scale }, query) {
  if (!words || !levels) return levels === 5 || scale ? DEGREES : ANSWERS;
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

/** What a person may change the answer of an image to: its own is among them.
 * @param {Model} model @param {number} query @param {number} own */
export function choicesFor(model, query, own) {
  const choices = [...answersTo(model, query)];
  if (!model.scale) return choices;
  const word = answerText(own, model, query);
  const place = choices.findIndex((each) => each.word === word);
  // What is neither yes nor no stands in the middle.
  choices.splice(place < 0 ? 3 : place, place < 0 ? 0 : 1, { word, value: own, letter: "" });
  return choices;
}

/** How certain an answer of an image is: yes and no are 1, probably 0.75, not sure 0.5.
 * @param {number} answer @param {Model} model @param {number} query */
export function certainty(answer, model, query) {
  if (model.words) return Number(answer !== 0.5);
  const word = model.scale && answerText(answer, model, query);
  const value = word ? (DEGREES.find((each) => each.word === word)?.value ?? 0.5) : answer;
  return Math.max(value, 1 - value);
}

/** Whether an answer is yes, no or in between. @param {string} word */
export function isDegree(word) {
  return DEGREES.some((each) => each.word === word);
}

/** The class of style of an answer: the value of a column speaks for one class, against another.
 * @param {number} answer @param {Model} model @param {number} query */
export function answerClass(answer, model, query) {
  const plain = isDegree(answerText(answer, model, query));
  if (model.words && answer !== 0.5 && !plain) return "value";
  return (model.scale && !plain ? DEGREES[2].word : answerWord(answer)).replace(" ", "-");
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
// Columns of a group that are named.
const COLUMNS = 3;

/** The most probable class, or those that are equally probable, and how probable, as in Python.
 * @param {Model} model @param {ArrayLike<number>} posterior @param {boolean} [down] see `percent`
 * @returns {[string, string]} */
export function leader(model, posterior, down) {
  const highest = posterior[topClasses(posterior, 1)[0]];
  const equal = model.classes.filter((_, y) => highest - posterior[y] < SAME);
  if (equal.length <= NAMED) return [equal.join(" = "), percent(highest, down)];
  const share = highest < 0.0999 ? precisePercent(highest) : percent(highest, down);
  return [say("tied", { count: equal.length }), share];
}

/** What a group holds: "9 answers moved no class by more than 4 points: 9 no".
 * @param {Model} model @param {Plan} plan @param {number[]} run */
export function changedLittle(model, plan, run) {
  const most = Math.max(1, Math.ceil(Number((100 * moved(plan, run)).toFixed(6))));
  const said = (/** @type {string} */ answers) =>
    say("group", { count: run.length, points: say("point", { count: most }), answers });
  if (model.words) {
    const asked = run.map((place) => model.queries[plan.steps[place].query].replace(/\?+$/, ""));
    const columns = asked.slice(0, COLUMNS).join(", ");
    const more = asked.length - COLUMNS;
    return said(more > 0 ? say("and_more", { columns, count: more }) : columns);
  }
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const place of run) {
    const { answer, query } = plan.steps[place];
    const word = answerText(answer, model, query);
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([word, count]) => `${count} ${word}`);
  return said(parts.join(", "));
}

/** After how many questions it ended, and if it is not certain, why (`ending` of Python).
 * @param {Plan} plan */
export function ending({ prior, steps, ended, posterior }) {
  const after = say("after", { count: steps.length });
  if (certain(ended)) return after;
  const predicted = largest(posterior);
  const course = [prior, ...steps.map((step) => step.posterior)].reverse().slice(1);
  const other = course.findIndex((each) => each[largest(each)] - each[predicted] >= SAME);
  const count = other < 0 ? course.length : other;
  const questions = say("question", { count: steps.length });
  const which = count === steps.length ? questions : say("last_of", { count, questions });
  const reason = say(`ended_${ended}`, { after, which });
  return say(prior[predicted] > 1 / 2 ? "not_certain_common" : "not_certain", { reason });
}

/** The most probable classes in words: "zebra 50 %, horse 45 %".
 * @param {Model} model @param {ArrayLike<number>} posterior @param {number} [count] */
export function probableWords(model, posterior, count = 2) {
  const [first, ...others] = topClasses(posterior, count);
  const [name, share] = leader(model, posterior);
  // After a tie the next ones are among those tied.
  const rest = name === model.classes[first] ? others : [];
  return [
    `${name} ${share}`,
    ...rest.map((each) => `${model.classes[each]} ${percent(posterior[each])}`),
  ].join(", ");
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
