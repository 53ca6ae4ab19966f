// @ts-check
// The server's part: new images, and a model whose networks are too large for the page.

import { pictureOf } from "./payload.js";
import { renormalized } from "./pursuit.js";
/** @import { Picture } from "./payload.js" */
/** @import { Predictor, Prediction, Answered } from "./pursuit.js" */

// Of one request; the server takes no more: histories, numbers in its answer, and answers
// in its histories (each some 45 bytes of 2 MB).
const MOST = 4096;
const MOST_VALUES = 500_000;
const MOST_ANSWERED = 40_000;

/** What the server said against a request, or that it does not answer; one sentence. */
export class ServerError extends Error {}

/** @param {string} path
 * @param {RequestInit} options
 * @returns {Promise<any>}
 * @throws {ServerError} it does not answer, or says no */
async function ask(path, options) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ServerError(
      "The server does not answer. Start it again with the same command; what this page holds still works.",
    );
  }
  const content = await response.json().catch(() => null);
  if (!response.ok) {
    throw new ServerError(content?.error ?? `The server answers ${response.status}.`);
  }
  if (content === null) throw new ServerError("The server's answer is damaged.");
  return content;
}

/** Let the model answer a picture. The server keeps none.
 * @param {Blob} file
 * @returns {Promise<Picture>} */
export async function sendPicture(file) {
  const content = await ask("api/images", {
    method: "POST",
    body: file,
    headers: { "Content-Type": file.type || "application/octet-stream" },
  });
  return pictureOf(content);
}

/**
 * @typedef {"yes" | "no" | "not sure"} PersonsAnswer
 * @typedef {{file: string, answers: (PersonsAnswer | null)[], lacking: [number, number][]}} Annotations
 */

/** The answers to questions about pictures so far. @returns {Promise<Annotations>} */
export async function annotations() {
  return ask("api/annotations", {});
}

/** @param {number} place @returns {Promise<{question: string, image: string, picture: string}>} */
export async function questionAt(place) {
  return ask(`api/annotations/${place}`, {});
}

/** Save an answer. @param {number} place @param {PersonsAnswer} answer @returns {Promise<Annotations>} */
export async function saveAnswer(place, answer) {
  return ask("api/annotations", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ place, answer }),
  });
}

/** A model that thinks on the server. @implements {Predictor} */
export class RemoteMind {
  /** @param {number} values of one history: questions and classes
   * @param {number[] | null} [classes] as if there were no others */
  constructor(values, classes = null) {
    this.name = /** @type {const} */ ("querier probability");
    this.rounding = 0;
    this.remote = true;
    this.values = values;
    this.classes = classes;
  }

  /** @param {Answered[]} history @param {ReadonlySet<number>} [banned] @returns {Promise<Prediction>} */
  async predict(history, banned = new Set()) {
    return (await this.predictAll([history], banned))[0];
  }

  /** @param {Answered[][]} histories @param {ReadonlySet<number>} [banned] @returns {Promise<Prediction[]>} */
  async predictAll(histories, banned = new Set()) {
    /** @type {Prediction[]} */
    const predictions = [];
    const most = Math.max(1, Math.min(MOST, Math.floor(MOST_VALUES / this.values)));
    let start = 0;
    while (start < histories.length) {
      let end = start + 1;
      let answered = histories[start].length;
      while (
        end < Math.min(start + most, histories.length) &&
        answered + histories[end].length <= MOST_ANSWERED
      ) {
        answered += histories[end].length;
        end += 1;
      }
      predictions.push(...(await this.request(histories.slice(start, end), banned)));
      start = end;
    }
    return predictions;
  }

  /** @param {Answered[][]} histories @param {ReadonlySet<number>} banned @returns {Promise<Prediction[]>} */
  async request(histories, banned) {
    const content = await ask("api/steps", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ histories }),
    });
    return histories.map((history, place) => {
      const { posterior, values } = content.steps[place];
      const order = Float64Array.from(values, (value) => value ?? -Infinity);
      for (const { query } of history) order[query] = -Infinity;
      for (const query of banned) order[query] = -Infinity;
      const shares = renormalized(Float64Array.from(posterior), this.classes);
      return { posterior: shares, values: order, order };
    });
  }

  /** @param {number[]} classes */
  forClasses(classes) {
    return new RemoteMind(this.values, classes);
  }
}
