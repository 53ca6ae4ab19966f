// @ts-check
// One image: the questions one after another, why each, and what would change the prediction.

import { PosteriorBars, shareBar } from "./bars.js";
import { ChangesPanel } from "./changes.js";
import { fill, h, hidden, icon, keyed, mayMove, setAttribute, told } from "./dom.js";
import { MindChange } from "./mind_change.js";
import { CLEAN, Picker, pictureName, pictureOfImage, smallGallery, trueClass } from "./pictures.js";
import { largest } from "./pursuit.js";
import { Sliders } from "./sliders.js";
import { Upload } from "./upload.js";
import {
  ANSWERS,
  answerText,
  answerWord,
  counted,
  leaderName,
  nats,
  percent,
  probableWords,
  stopsWhen,
} from "./words.js";
/** @import { App, Image } from "./app.js" */
/** @import { Plan, Step } from "./pursuit.js" */

// Milliseconds from one question to the next.
const PACE = 1100;
// An answer that so small a share of a class gives is odd.
const ODD = 0.1;
// Images of the training split that answer likewise.
const ALIKE = 12;
// Questions that a search finds.
const FOUND = 6;

export class ImageView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Plan | null} */
    this.plan = null;
    /** @type {Plan | null} what the model does with the image as it is */
    this.own = null;
    this.step = 0;
    this.turn = 0;
    this.playing = 0;
    this.wanted = "";
    /** @type {Image | null} */
    this.image = null;
    this.picker = new Picker(app, (image) => this.pick(image));
    this.bars = new PosteriorBars(app.model.classes);
    this.changes = new ChangesPanel(app);
    this.mindChange = new MindChange(app);
    this.sliders = new Sliders(app, () => this.update());
    this.upload =
      app.payload.served && app.payload.models.every((each) => each.sees)
        ? new Upload(app, (image) => this.took(image))
        : null;
    this.figure = h("figure", { class: "picture" });
    this.when = h("p", { class: "quiet" });
    this.steps = h("ol", { class: "steps" });
    this.ending = h("div", { class: "ending" });
    this.backButton = h(
      "button",
      { type: "button", on: { click: () => this.go(-1) } },
      icon("back"),
      "Back",
    );
    this.playButton = h("button", {
      type: "button",
      class: "primary",
      on: { click: () => this.togglePlay() },
    });
    this.nextButton = h(
      "button",
      { type: "button", on: { click: () => this.go(1) } },
      "Next",
      icon("next"),
    );
    this.place = h("span", { class: "quiet place" });
    this.controls = h(
      "div",
      { class: "controls", role: "group", "aria-label": "Play" },
      this.backButton,
      this.playButton,
      this.nextButton,
      this.place,
    );
    this.search = h("input", {
      type: "search",
      id: "ask-search",
      autocomplete: "off",
      on: { input: () => this.showFound() },
    });
    this.found = h("ul", { class: "found" });
    this.askOwn = h(
      "details",
      { class: "ask-own" },
      h("summary", {}, "Ask a question of your choice next"),
      h("label", { for: "ask-search" }, "Search the questions"),
      this.search,
      this.found,
    );
    this.askOwn.addEventListener("toggle", () => this.showFound());
    this.element = h(
      "div",
      { class: "view image-view" },
      h("h1", {}, "What does it ask, and what does it conclude?"),
      h(
        "p",
        { class: "lead" },
        "The model sees an image only through answers to plain questions. It asks what tells most, " +
          "and stops when it is sure. Change an answer, and it plans anew.",
      ),
      this.picker.element,
      this.upload?.element,
      h(
        "div",
        { class: "pursuit" },
        h(
          "div",
          { class: "looks" },
          this.figure,
          h(
            "section",
            { "aria-labelledby": "posterior-title" },
            h("h2", { id: "posterior-title" }, "Class probabilities"),
            this.when,
            this.bars.element,
          ),
        ),
        h(
          "section",
          { class: "talk", "aria-labelledby": "talk-title" },
          h("h2", { id: "talk-title" }, "Questions and answers"),
          this.controls,
          this.changes.element,
          this.steps,
          this.ending,
          this.askOwn,
        ),
        this.sliders.element,
      ),
      this.mindChange.element,
    );
  }

  /** @param {Image} image */
  pick(image) {
    if (image.id !== this.image?.id) this.app.change({ ...CLEAN, image: image.id });
  }

  /** @param {Image} image that a person gave */
  took(image) {
    this.picker.filter.value = "";
    this.app.change({ ...CLEAN, image: image.id });
    this.picker.show(false);
  }

  leave() {
    this.pause();
  }

  /** @param {string} key */
  key(key) {
    if (key === " ") this.togglePlay();
    else if (key === "ArrowLeft") this.go(-1);
    else if (key === "ArrowRight") this.go(1);
    else return false;
    return true;
  }

  async update() {
    const turn = ++this.turn;
    const { app } = this;
    const { state } = app;
    const image = app.current;
    const another = image !== this.image;
    const wanted = JSON.stringify([[...state.given], [...state.struck], [...state.chosen]]);
    this.image = image;
    if (!image) {
      fill(
        this.figure,
        h("p", { class: "quiet" }, "This page holds no image. Go to You: there you are the image."),
      );
      return;
    }
    const whatIf = {
      stop: app.stop(),
      given: state.given,
      struck: state.struck,
      chosen: state.chosen,
    };
    const changed = state.given.size + state.struck.size + state.chosen.size > 0;
    const own = await app.plan(state.model, image, { stop: whatIf.stop });
    const plan = changed ? await app.plan(state.model, image, whatIf) : own;
    if (turn !== this.turn) return;
    const before = this.plan;
    this.plan = plan;
    this.own = own;
    if (another) {
      this.pause();
      this.steps.replaceChildren();
      this.picker.mark();
      this.step = 0;
      if (changed || !mayMove()) this.step = plan.steps.length;
      else this.play();
    } else if (this.wanted !== wanted) {
      // A change shows all that follows from it.
      this.pause();
      this.step = plan.steps.length;
    } else if (before && (this.step >= before.steps.length || this.step > plan.steps.length)) {
      this.step = plan.steps.length;
    }
    this.wanted = wanted;
    if (another) this.showImage(image, true);
    this.show();
    this.changes.update(image, own, plan);
    this.mindChange.update(image, plan, whatIf);
    this.sliders.update();
    this.showFound();
    if (!another && before && changed) {
      app.announce(
        `Planned anew: ${probableWords(app.model, plan.posterior)} after ${counted(plan.steps.length, "question")}.`,
      );
    }
  }

  /** @param {Image} image @param {boolean} another */
  showImage(image, another) {
    const { app } = this;
    const truth = trueClass(app, image);
    const caption = h("figcaption", {});
    if (another) {
      fill(this.figure, pictureOfImage(image, `The image ${pictureName(app, image)}`), caption);
    } else this.figure.lastElementChild?.replaceWith(caption);
    const plan = /** @type {Plan} */ (this.plan);
    const predicted = largest(plan.posterior);
    const rows = [
      [
        "Prediction",
        [told(app.model.classes[predicted]), `, ${percent(plan.posterior[predicted])}`],
      ],
      truth
        ? ["True class", [told(truth), hidden(predicted === image.label ? ": right" : ": wrong")]]
        : null,
    ];
    const right = image.label === null ? "" : predicted === image.label ? "right" : "wrong";
    const open = this.step < plan.steps.length;
    fill(
      caption,
      h("p", { class: "id" }, told(image.id)),
      h(
        "dl",
        {},
        rows.map((row, i) => {
          if (!row || (open && i === 0)) return null;
          const [name, value] = /** @type {[string, (Node | string)[]]} */ (row);
          return h("div", { class: i ? "" : right }, h("dt", {}, name), h("dd", {}, value));
        }),
      ),
    );
    const { familiar } = app.model;
    const share = app.familiarity(image);
    if (!familiar || share === null || share >= familiar.unfamiliar || image.split === "train") {
      return;
    }
    caption.append(
      h(
        "p",
        { class: "caution" },
        `This image looks like none of the classes: of images of these classes ${percent(share)} ` +
          "have answers as unusual.",
      ),
    );
  }

  /** Show the first questions, as many as `step` says. */
  show() {
    const { app, plan } = this;
    if (!plan) return;
    const { classes } = app.model;
    const shown = plan.steps.slice(0, this.step);
    const posterior = shown.length ? shown[shown.length - 1].posterior : plan.prior;
    const image = /** @type {Image} */ (this.image);
    this.bars.update(posterior, { truth: image.label, stop: app.stop().probability });
    this.when.textContent = shown.length
      ? `after ${counted(shown.length, "question")}`
      : "before any question";
    keyed(
      this.steps,
      shown,
      (step) => step.query,
      (step) => this.makeStep(step),
      (element, step, place) => this.updateStep(element, step, place),
    );
    const over = this.step >= plan.steps.length;
    const predicted = largest(plan.posterior);
    fill(this.ending, over ? this.endWords(predicted, classes) : null);
    this.showImage(image, false);
    setAttribute(this.backButton, "disabled", this.step === 0);
    setAttribute(this.nextButton, "disabled", over);
    const again = over && plan.steps.length > 0;
    const playing = this.playing > 0;
    fill(
      this.playButton,
      icon(playing ? "pause" : "play"),
      playing ? "Pause" : again ? "Play again" : "Play",
    );
    setAttribute(this.playButton, "disabled", plan.steps.length === 0);
    this.place.textContent = `${this.step} of ${counted(plan.steps.length, "question")}`;
  }

  /** @param {number} predicted @param {string[]} classes */
  endWords(predicted, classes) {
    const plan = /** @type {Plan} */ (this.plan);
    const stop = this.app.stop();
    const probability = percent(plan.posterior[predicted]);
    const said = h("b", {}, told(classes[predicted]), `, ${probability}`);
    if (classes.length === 1) {
      return h("p", {}, "There is only one class, and nothing to ask: ", said, ".");
    }
    const why = plan.confident
      ? ` It stops ${stopsWhen({ ...stop, max_queries: null })}.`
      : plan.next.length
        ? " It may ask no more."
        : " It has asked everything.";
    return h(
      "p",
      {},
      "Prediction: ",
      said,
      ` after ${counted(plan.steps.length, "question")}.`,
      why,
    );
  }

  /** @param {Step} step */
  makeStep(step) {
    const question = this.app.model.questions[step.query];
    const legend = h("legend", { class: "hidden" }, `Answer to: ${question}`);
    const choices = ANSWERS.map(({ word, value }) =>
      h(
        "label",
        { class: `choice ${word.replace(" ", "-")}` },
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
      h("div", { class: "question" }, h("p", {}, told(question)), h("span", { class: "tags" })),
      h("fieldset", { class: "answers" }, legend, choices),
      h("div", { class: "belief" }),
      why,
    );
    why.addEventListener("toggle", () => this.showWhy(element, step.query));
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
    const image = /** @type {Image} */ (this.image);
    const own = /** @type {Plan} */ (this.own);
    const leader = largest(step.posterior);
    for (const input of element.querySelectorAll("input")) {
      const value = Number(input.value);
      input.checked = answerWord(step.answer) === answerWord(value);
      const text = /** @type {HTMLElement} */ (input.nextElementSibling);
      text.textContent = input.checked ? answerText(step.answer) : answerWord(value);
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
    fill(
      belief,
      h("span", { class: "name" }, told(leaderName(app.model, step.posterior))),
      h("span", { class: "number" }, percent(step.posterior[leader])),
      shareBar(step.posterior[leader]),
    );
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
    const gain = app.minds[app.state.model].name === "information gain";
    const show = (/** @type {number} */ value) => (gain ? nats(value) : percent(value));
    const most = Math.max(step.value, ...step.runnersUp.map((each) => each.value), 1e-12);
    const rows = [{ query, value: step.value }, ...step.runnersUp];
    const reasons = /** @type {HTMLElement} */ (why.lastElementChild);
    const first = place === 0 && query === app.model.first;
    const because = step.chosen
      ? "You chose it. The model's own choice is below."
      : first
        ? "Every image is asked this first."
        : gain
          ? "Its answer is expected to tell most about the class (information gain)."
          : "The querier gives it the highest probability.";
    fill(
      reasons,
      h("p", {}, because),
      h(
        "table",
        { class: "candidates" },
        h("caption", { class: "hidden" }, "This question and the runners-up"),
        h(
          "tbody",
          {},
          rows.map((row, i) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, told(questions[row.query])),
              h("td", { class: "number" }, row.value > -Infinity ? show(row.value) : "–"),
              h("td", { class: "meter" }, shareBar(row.value / most)),
              h(
                "td",
                {},
                i === 0
                  ? h("span", { class: "quiet" }, "asked")
                  : h(
                      "button",
                      {
                        type: "button",
                        class: "small",
                        on: { click: () => this.askInstead(place, row.query) },
                      },
                      "Ask instead",
                      hidden(` ${questions[row.query]}`),
                    ),
              ),
            ),
          ),
        ),
      ),
      h(
        "button",
        { type: "button", class: "small", on: { click: () => this.strike(query) } },
        "Strike this question",
      ),
      this.alike(step),
    );
  }

  /** Who else answers so, where the answer is odd or not. @param {Step} step */
  alike(step) {
    const { app } = this;
    const { model } = app.state;
    const { label } = /** @type {Image} */ (this.image);
    const answer = answerWord(step.answer);
    const same = app.train.filter((each) => answerWord(each.answers(model)[step.query]) === answer);
    // Of the same class first: they may be odd in the same way.
    same.sort((a, b) => Number(b.label === label) - Number(a.label === label));
    const words = [];
    if (label !== null) {
      const rate = app.answerRate(step.answer, step.query, label);
      if (rate !== null) {
        words.push(
          `${percent(rate)} of the class `,
          told(app.model.classes[label]),
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
      h("summary", {}, `Training images that answer ${answer}`),
      gallery,
    );
    details.addEventListener("toggle", () => {
      if (!details.open || gallery.childElementCount) return;
      const shown = smallGallery(
        app,
        same.slice(0, ALIKE),
        `None of the ${app.train.length} in this page.`,
      );
      const count = counted(same.length, "image");
      fill(
        gallery,
        same.length > ALIKE ? h("p", { class: "quiet" }, `${ALIKE} of ${count}`) : null,
        shown,
      );
    });
    return h("div", {}, words.length ? h("p", {}, words) : null, app.train.length ? details : null);
  }

  /** @param {number} query @param {number} answer */
  setAnswer(query, answer) {
    const { app } = this;
    const image = /** @type {Image} */ (this.image);
    const place = this.plan?.steps.findIndex((each) => each.query === query) ?? 0;
    const given = new Map(app.state.given);
    if (image.answers(app.state.model)[query] === answer) given.delete(query);
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

  showFound() {
    const { plan, app } = this;
    if (!plan || !this.askOwn.open) return;
    const { questions } = app.model;
    const asked = new Set(plan.steps.slice(0, this.step).map((each) => each.query));
    const wanted = this.search.value.trim().toLowerCase();
    const open = (/** @type {number} */ query) => !asked.has(query) && !app.state.struck.has(query);
    /** @type {number[]} */
    let found = [];
    if (wanted) {
      for (let query = 0; query < questions.length && found.length < FOUND; query++) {
        if (open(query) && questions[query].toLowerCase().includes(wanted)) found.push(query);
      }
    } else {
      const next = plan.steps[this.step];
      const best = next
        ? [next.query, ...next.runnersUp.map((each) => each.query)]
        : plan.next.map((each) => each.query);
      found = best.filter(open);
    }
    fill(
      this.found,
      found.map((query) =>
        h(
          "li",
          {},
          h(
            "button",
            { type: "button", class: "small", on: { click: () => this.askNext(query) } },
            "Ask",
            hidden(` ${questions[query]}`),
          ),
          " ",
          told(questions[query]),
        ),
      ),
      found.length ? null : h("li", { class: "quiet" }, "No such question is left."),
    );
  }

  /** @param {number} query */
  askNext(query) {
    const { app } = this;
    const place = this.step;
    const chosen = chosenUpTo(app.state.chosen, place - 1).set(place, query);
    this.search.value = "";
    this.search.focus();
    this.pause();
    app.change({ chosen }, { undoable: true });
  }

  /** @param {number} by */
  go(by) {
    this.pause();
    this.moveTo(this.step + by);
  }

  /** @param {number} step */
  moveTo(step) {
    if (!this.plan) return;
    const next = Math.min(Math.max(step, 0), this.plan.steps.length);
    const forward = next > this.step;
    this.step = next;
    this.show();
    this.showFound();
    if (next > 0) this.tell(next, forward);
  }

  /** @param {number} count @param {boolean} forward */
  tell(count, forward) {
    const { app, plan } = this;
    if (!plan) return;
    const step = plan.steps[count - 1];
    const words = [
      `Question ${count}: ${app.model.questions[step.query]} ${answerText(step.answer)}.`,
      `${probableWords(app.model, step.posterior)}.`,
    ];
    if (forward && count === plan.steps.length) words.push(this.ending?.textContent ?? "");
    app.announce(words.join(" "));
  }

  togglePlay() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (!this.plan) return;
    if (this.step >= this.plan.steps.length) this.step = 0;
    const tick = () => {
      this.moveTo(this.step + 1);
      if (this.plan && this.step >= this.plan.steps.length) this.pause();
    };
    this.playing = window.setInterval(tick, PACE);
    this.show();
  }

  pause() {
    if (!this.playing) return;
    clearInterval(this.playing);
    this.playing = 0;
    this.show();
  }
}

/** Choices of questions up to a step; what came after was chosen by the answers before it.
 * @param {ReadonlyMap<number, number>} chosen @param {number} place @returns {Map<number, number>} */
function chosenUpTo(chosen, place) {
  return new Map([...chosen].filter(([step]) => step <= place));
}
