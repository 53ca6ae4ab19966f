// @ts-check
// The questions that were asked of an image: each with its answer, which a person may change, what it
// leads to, and why it was asked.

import { shareBar } from "./bars.js";
import { button, fill, h, hidden, isolated, keyed, mayMove, quiet, table } from "./dom.js";
import { smallGallery, trueClass } from "./pictures.js";
import { certain, grouped, largest } from "./pursuit.js";
import { chosenUpTo } from "./state.js";
import {
  answerClass,
  answerText,
  answerWord,
  choicesFor,
  changedLittle,
  counted,
  leader,
  percent,
  say,
  valueText,
} from "./words.js";
/** @import { App, Image } from "./app.js" */
/** @import { Plan, Step } from "./pursuit.js" */

// An answer that so small a share of a class gives is odd.
const ODD = 0.1;
// Images of the training split that answer likewise.
const ALIKE = 12;

export class Steps {
  /** @param {App} app @param {(query: number | null) => void} point shows the place of an answer */
  constructor(app, point) {
    this.app = app;
    this.point = point;
    this.element = h("ol", { class: "steps" });
    this.groupButton = button(() => this.app.change({ long: !this.app.state.long }), [], {
      class: "small",
    });
    /** @type {Image | null} */
    this.image = null;
    /** @type {Plan | null} */
    this.plan = null;
    /** @type {Plan | null} what the model does with the image as it is */
    this.own = null;
  }

  /** @param {Image} image @param {Plan} plan @param {Plan} own @param {number} count shown */
  update(image, plan, own, count) {
    if (image !== this.image) this.element.replaceChildren();
    this.image = image;
    this.plan = plan;
    this.own = own;
    // Whether a chain has more than groups is known only at its end.
    const over = count === plan.steps.length;
    const runs = this.app.state.long || !over ? null : grouped(plan);
    keyed(
      this.element,
      runs ?? plan.steps.slice(0, count).map((_, place) => [place]),
      (run) => (run.length > 1 ? `from ${run[0]}` : plan.steps[run[0]].query),
      (run) => (run.length > 1 ? this.makeGroup() : this.makeStep(plan.steps[run[0]])),
      (element, run) => {
        if (run.length > 1) this.updateGroup(element, run);
        else this.updateStep(element, plan.steps[run[0]], run[0]);
      },
    );
    const groups = runs?.some((run) => run.length > 1);
    this.groupButton.hidden = !groups && !(over && this.app.state.long);
    fill(
      this.groupButton,
      groups ? `Show all ${plan.steps.length} answers` : "Group answers that changed little",
    );
  }

  makeGroup() {
    const all = button(() => this.app.change({ long: true }), [], { class: "plain" });
    return h("li", { class: "group" }, all, h("div", { class: "belief" }));
  }

  /** @param {HTMLElement} element @param {number[]} run */
  updateGroup(element, run) {
    const { app, plan } = this;
    if (!plan) return;
    const last = run[run.length - 1];
    element.dataset.number = `${run[0] + 1}\u2013${last + 1}`;
    fill(element.children[0], isolated(changedLittle(app.model, plan, run)), hidden(": show them"));
    this.fillBelief(element.children[1], last);
  }

  /** @param {Element} belief @param {number} place */
  fillBelief(belief, place) {
    const { steps, ended } = /** @type {Plan} */ (this.plan);
    const { posterior } = steps[place];
    const missed = place === steps.length - 1 && !certain(ended);
    const [name, share] = leader(this.app.model, posterior, missed);
    fill(
      belief,
      h("span", { class: "name" }, isolated(name)),
      h("span", { class: "number" }, share),
      shareBar(posterior[largest(posterior)]),
    );
  }

  /** @param {number} query */
  choices(query) {
    return choicesFor(this.app.model, query, this.image?.answers()[query] ?? 0.5);
  }

  /** @param {Step} step */
  makeStep(step) {
    const question = this.app.model.questions[step.query];
    const legend = h("legend", { class: "hidden" }, `Answer to: ${question}`);
    const { model } = this.app;
    const choices = this.choices(step.query).map(({ word, value }) =>
      h(
        "label",
        { class: `choice ${answerClass(value, model, step.query)}` },
        h("input", {
          type: "radio",
          name: `answer-${step.query}`,
          value: String(value),
          on: { change: () => this.setAnswer(step.query, value) },
        }),
        h("span", { "data-word": word }, word),
      ),
    );
    const why = h(
      "details",
      { class: "why" },
      h("summary", {}, "Why this question?", hidden(` ${question}`)),
      h("div", { class: "reasons" }),
    );
    const element = h(
      "li",
      { class: "step" },
      h("div", { class: "question" }, h("p", {}, isolated(question)), h("span", { class: "tags" })),
      h("fieldset", { class: "answers" }, legend, choices),
      h("div", { class: "belief" }),
      why,
    );
    why.addEventListener("toggle", () => this.showWhy(element, step.query));
    for (const name of ["mouseenter", "focusin"]) {
      element.addEventListener(name, () => this.point(step.query));
    }
    for (const name of ["mouseleave", "focusout"]) {
      element.addEventListener(name, () => this.point(null));
    }
    if (mayMove()) {
      element.animate(
        [
          { opacity: 0, transform: "translateY(6px)" },
          { opacity: 1, transform: "none" },
        ],
        220,
      );
    }
    return element;
  }

  /** @param {HTMLElement} element @param {Step} step @param {number} place */
  updateStep(element, step, place) {
    const { app } = this;
    const { image, own } = this;
    if (!image || !own) return;
    const choices = this.choices(step.query);
    const chosen =
      choices.find(({ value }) => value === step.answer) ??
      choices.find(({ value }) => answerWord(value) === answerWord(step.answer));
    for (const input of element.querySelectorAll("input")) {
      const value = Number(input.value);
      input.checked = value === chosen?.value;
      const text = /** @type {HTMLElement} */ (input.nextElementSibling);
      const shown = input.checked ? step.answer : value;
      text.textContent = answerText(shown, app.model, step.query);
    }
    const rate = image.label === null ? null : app.answerRate(step.answer, step.query, image.label);
    const added = !own.steps.some((each) => each.query === step.query);
    const tags = [
      step.given ? "your answer" : null,
      step.chosen ? "your question" : null,
      added && !step.chosen ? "new" : null,
      !step.given && rate !== null && rate < ODD ? `odd for “${trueClass(app, image)}”` : null,
    ];
    element.classList.toggle("changed", step.given || step.chosen || added);
    const [question, , belief, why] = element.children;
    fill(
      /** @type {Element} */ (question.lastElementChild),
      tags.filter((tag) => tag !== null).map((tag) => h("span", { class: "tag" }, tag)),
    );
    this.fillBelief(belief, place);
    element.dataset.number = String(place + 1);
    element.setAttribute("aria-label", `Question ${place + 1}`);
    if (/** @type {HTMLDetailsElement} */ (why).open) this.showWhy(element, step.query);
  }

  /** @param {HTMLElement} element @param {number} query */
  showWhy(element, query) {
    const why = /** @type {HTMLDetailsElement} */ (element.lastElementChild);
    const place = this.plan?.steps.findIndex((each) => each.query === query) ?? -1;
    const step = this.plan?.steps[place];
    if (!why.open || !step) return;
    const { app } = this;
    const { questions } = app.model;
    const { name } = app.predictor;
    const show = (/** @type {number} */ value) => valueText(value, name);
    const most = Math.max(step.value, ...step.runnersUp.map((each) => each.value), 1e-12);
    const rows = [{ query, value: step.value }, ...step.runnersUp];
    const reasons = /** @type {HTMLElement} */ (why.lastElementChild);
    const first = place === 0 && query === app.model.first;
    const because = step.chosen ? "chosen" : first ? "first" : name;
    fill(
      reasons,
      h("p", {}, say(`why ${because}`, { noun: app.noun })),
      table(
        { class: "candidates" },
        [],
        rows.map((row, i) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, isolated(questions[row.query])),
            h("td", { class: "number" }, row.value > -Infinity ? show(row.value) : "–"),
            h("td", { class: "meter" }, shareBar(row.value / most)),
            h(
              "td",
              {},
              i === 0
                ? h("span", { class: "quiet" }, "asked")
                : button(
                    () => this.askInstead(place, row.query),
                    ["Ask instead", hidden(` ${questions[row.query]}`)],
                    { class: "small" },
                  ),
            ),
          ),
        ),
        h("caption", { class: "hidden" }, "This question and the runners-up"),
      ),
      button(() => this.strike(query), "Strike this question", { class: "small" }),
      this.alike(step),
    );
  }

  /** Who else answers so, where the answer is odd or not. @param {Step} step */
  alike(step) {
    const { app } = this;
    const label = this.image?.label ?? null;
    const text = (/** @type {number} */ value) => answerText(value, app.model, step.query);
    const answer = text(step.answer);
    const same = app.train.filter((each) => text(each.answers()[step.query]) === answer);
    // Of the same class first: they may be odd in the same way.
    same.sort((a, b) => Number(b.label === label) - Number(a.label === label));
    const words = [];
    if (label !== null) {
      const rate = app.answerRate(step.answer, step.query, label);
      if (rate !== null) {
        words.push(
          `${percent(rate)} of the class `,
          isolated(app.model.classes[label]),
          ` answer ${answer}. `,
        );
      }
    }
    const seen = app.model.truth?.[step.query];
    if (seen && seen.right !== null) {
      words.push(`Where the truth is known, ${percent(seen.right)} of the answers to it are true.`);
    }
    const gallery = h("div", {});
    const details = h(
      "details",
      { class: "alike" },
      h("summary", {}, `Training ${app.noun}s that answer ${answer}`),
      gallery,
    );
    details.addEventListener("toggle", () => {
      if (!details.open || gallery.childElementCount) return;
      const shown = smallGallery(
        app,
        same.slice(0, ALIKE),
        `None of the ${app.train.length} in this page.`,
      );
      const count = counted(same.length, app.noun);
      fill(gallery, same.length > ALIKE ? quiet(`${ALIKE} of ${count}`) : null, shown);
    });
    return h("div", {}, words.length ? h("p", {}, words) : null, app.train.length ? details : null);
  }

  /** @param {number} query @param {number} answer */
  setAnswer(query, answer) {
    const { app } = this;
    const place = this.plan?.steps.findIndex((each) => each.query === query) ?? 0;
    const given = new Map(app.state.given);
    if (this.image?.answers()[query] === answer) given.delete(query);
    else given.set(query, answer);
    app.change({ given, chosen: chosenUpTo(app.state.chosen, place) }, { undoable: true });
  }

  /** @param {number} place @param {number} query */
  askInstead(place, query) {
    const { app } = this;
    const chosen = chosenUpTo(app.state.chosen, place - 1);
    app.change({ chosen: chosen.set(place, query) }, { undoable: true });
  }

  /** @param {number} query */
  strike(query) {
    const { app } = this;
    app.change({ struck: new Set([...app.state.struck, query]) }, { undoable: true });
  }
}
