// @ts-check
// A person answers one question about one picture after another; the server saves each answer.

import { button, fill, h, inRow, isolated, quiet } from "./dom.js";
import { annotations, questionAt, saveAnswer } from "./remote.js";
import { counted } from "./words.js";
/** @import { App } from "./app.js" */
/** @import { Annotations, PersonsAnswer } from "./remote.js" */

/** @type {{word: PersonsAnswer, key: string, name: string}[]} */
const REPLIES = [
  { word: "yes", key: "y", name: "y" },
  { word: "no", key: "n", name: "n" },
  { word: "not sure", key: " ", name: "space" },
];

/** Its keys, and what they do. */
export const ANNOTATING = [
  ["y, n, space", "answer yes, no, not sure"],
  ["← →", "one question back or on"],
  ["?", "this list"],
];

/** Until a text teaches. @param {[number, number]} lacking */
function needed([yes, no]) {
  const words = [yes && `${yes} yes`, no && `${no} no`].filter(Boolean);
  return words.length ? `It teaches after ${words.join(" and ")} more.` : "It has enough to teach.";
}

export class AnnotateView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.place = -1;
    this.saving = false;
    /** @type {Annotations} */
    this.given = { file: "", answers: [], lacking: [] };
    /** @type {Map<number, ReturnType<typeof questionAt>>} */
    this.asked = new Map();
    this.stage = h("div", { class: "stage" });
    this.status = quiet();
    this.element = h(
      "div",
      { class: "view annotate-view" },
      h("h1", {}, "What do these pictures show?"),
      this.status,
      this.stage,
    );
  }

  async update() {
    if (this.place >= 0) return;
    this.given = await annotations();
    const first = this.given.answers.indexOf(null);
    await this.show(first < 0 ? this.given.answers.length : first);
  }

  /** A question is asked of the server once. @param {number} place */
  question(place) {
    let asked = this.asked.get(place);
    if (!asked) {
      asked = questionAt(place);
      asked.catch(() => this.asked.delete(place));
      this.asked.set(place, asked);
    }
    return asked;
  }

  /** @param {number} place */
  async show(place) {
    const { answers, file, lacking } = this.given;
    this.place = place;
    const done = answers.filter((each) => each !== null).length;
    this.status.textContent = `${done} of ${counted(answers.length, "question")} answered, saved in ${file}`;
    if (place < answers.length) this.status.textContent += `. ${needed(lacking[place])}`;
    if (place >= answers.length) {
      fill(
        this.stage,
        h("h2", { class: "big", tabindex: "-1" }, "All questions are answered."),
        inRow(this.backButton()),
      );
      return;
    }
    const { question, image, picture } = await this.question(place);
    if (this.place !== place) return;
    fill(
      this.stage,
      h("img", { class: "annotated", src: picture, alt: image }),
      h("h2", { class: "big", tabindex: "-1" }, isolated(question)),
      h(
        "div",
        { class: "row", role: "group", "aria-label": "Your answer" },
        REPLIES.map(({ word, name }) =>
          button(() => this.answer(word), [word, " ", h("kbd", {}, name)], {
            class: `reply ${word.replace(" ", "-")}`,
            "aria-pressed": answers[place] === word ? "true" : "false",
          }),
        ),
      ),
      inRow(this.backButton(), h("span", { class: "quiet" }, isolated(image))),
    );
    this.app.announce(question);
    for (const old of this.asked.keys()) if (Math.abs(old - place) > 2) this.asked.delete(old);
    if (place + 1 < answers.length) this.question(place + 1).catch(() => {});
  }

  backButton() {
    return button(() => this.go(this.place - 1), "Back", { disabled: this.place === 0 });
  }

  /** @param {number} place */
  go(place) {
    if (place < 0 || place > this.given.answers.length) return;
    this.show(place).catch((error) => this.app.complain(error, () => this.go(place)));
  }

  /** @param {PersonsAnswer} answer */
  answer(answer) {
    const { place } = this;
    if (this.saving || place >= this.given.answers.length) return;
    this.saving = true;
    saveAnswer(place, answer)
      .then((given) => {
        this.given = given;
        this.go(place + 1);
      })
      .catch((error) => this.app.complain(error, () => this.answer(answer)))
      .finally(() => {
        this.saving = false;
      });
  }

  /** @param {string} key */
  key(key) {
    const reply = REPLIES.find((each) => each.key === key);
    if (reply) this.answer(reply.word);
    else if (key === "ArrowLeft") this.go(this.place - 1);
    else if (key === "ArrowRight") this.go(this.place + 1);
    else return false;
    return true;
  }
}
