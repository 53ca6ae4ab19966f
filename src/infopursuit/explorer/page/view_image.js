// @ts-check
// One image: the questions one after another, why each, and what would change the prediction.

import { PosteriorBars } from "./bars.js";
import { ChangesPanel } from "./changes.js";
import {
  button,
  fill,
  h,
  hidden,
  icon,
  isolated,
  mayMove,
  quiet,
  setAttribute,
  titled,
} from "./dom.js";
import { MindChange } from "./mind_change.js";
import { OwnQuestion } from "./own_question.js";
import { CLEAN, Picker, pictureName, pictureOfImage, trueClass } from "./pictures.js";
import { placeLine, showPlace } from "./places.js";
import { certain, largest, needed } from "./pursuit.js";
import { Sliders } from "./sliders.js";
import { Steps } from "./steps.js";
import { Upload } from "./upload.js";
import { answerText, counted, ending, percent, pieces, probableWords, say } from "./words.js";
/** @import { App, Image } from "./app.js" */
/** @import { Plan } from "./pursuit.js" */

// Milliseconds from one question to the next.
const PACE = 1100;
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
      app.payload.served && app.model.sees ? new Upload(app, (image) => this.took(image)) : null;
    this.figure = h("figure", { class: "picture" });
    this.when = quiet();
    this.steps = new Steps(app, (query) => showPlace(app, this.figure, this.image, query));
    this.ownQuestion = new OwnQuestion(app);
    this.ending = h("div", { class: "ending" });
    this.backButton = button(() => this.go(-1), [icon("back"), "Back"]);
    this.playButton = button(() => this.togglePlay(), [], { class: "primary" });
    this.nextButton = button(() => this.go(1), ["Next", icon("next")]);
    this.place = h("span", { class: "quiet place" });
    this.controls = h(
      "div",
      { class: "controls", role: "group", "aria-label": "Play" },
      this.backButton,
      this.playButton,
      this.nextButton,
      this.place,
    );
    this.talk = titled(
      "talk-title",
      "Questions and answers",
      { class: "talk" },
      this.controls,
      this.changes.element,
      this.steps.element,
      this.steps.groupButton,
      this.ending,
      this.ownQuestion.element,
    );
    this.element = h(
      "div",
      { class: "view image-view" },
      h("h1", {}, "What does it ask, and what does it conclude?"),
      h(
        "p",
        { class: "lead" },
        `The model sees ${app.noun === "image" ? "an image" : `a ${app.noun}`} only through answers to plain questions. It asks what tells most, ` +
          "and stops when it is sure. Change an answer, and it plans again.",
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
          titled("posterior-title", "Class probabilities", {}, this.when, this.bars.element),
        ),
        this.talk,
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
    for (const part of [this.talk, this.sliders.element, this.mindChange.element]) {
      part.hidden = !image;
    }
    if (!image) {
      fill(
        this.figure,
        quiet(`This page holds no ${app.noun}. Go to You: there you are the ${app.noun}.`),
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
    const own = await app.plan(image, { stop: whatIf.stop });
    const plan = changed ? await app.plan(image, whatIf) : own;
    if (turn !== this.turn) return;
    const before = this.plan;
    this.plan = plan;
    this.own = own;
    if (another) {
      this.pause();
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
    if (!another && before && changed) {
      app.announce(
        `Planned again: ${probableWords(app.model, plan.posterior)} ${say("after", { count: plan.steps.length })}.`,
      );
    }
  }

  /** @param {Image} image @param {boolean} another */
  showImage(image, another) {
    const { app } = this;
    const truth = trueClass(app, image);
    const caption = h("figcaption", {});
    if (another) {
      const picture = pictureOfImage(image, `The ${app.noun} ${pictureName(app, image)}`);
      fill(this.figure, h("div", { class: "seen" }, picture), caption);
      if (image.places) this.figure.insertBefore(placeLine(), caption);
    } else this.figure.lastElementChild?.replaceWith(caption);
    const plan = /** @type {Plan} */ (this.plan);
    const predicted = largest(plan.posterior);
    const rows = [
      [
        say("prediction_label"),
        [
          isolated(app.model.classes[predicted]),
          `, ${percent(plan.posterior[predicted], !certain(plan.ended))}`,
        ],
      ],
      truth
        ? [
            say("truth_label"),
            [isolated(truth), hidden(predicted === image.label ? ": right" : ": wrong")],
          ]
        : null,
    ];
    const right = image.label === null ? "" : predicted === image.label ? "right" : "wrong";
    const open = this.step < plan.steps.length;
    fill(
      caption,
      h("p", { class: "id" }, isolated(image.id)),
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
    if (image.unusual === null || image.split === "train") return;
    const share = percent(image.unusual);
    const caution = say("nonconforming_share", { noun: app.noun, share });
    caption.append(h("p", { class: "caution" }, caution));
  }

  /** Show the first questions, as many as `step` says. */
  show() {
    const { app, plan } = this;
    if (!plan) return;
    const { classes } = app.model;
    const shown = plan.steps.slice(0, this.step);
    const posterior = shown.length ? shown[shown.length - 1].posterior : plan.prior;
    const image = /** @type {Image} */ (this.image);
    this.bars.update(posterior, {
      truth: image.label,
      stop: needed(app.stop().probability, plan.prior, largest(posterior)),
    });
    this.when.textContent = shown.length ? say("after", { count: shown.length }) : say("before");
    this.steps.update(image, plan, this.own ?? plan, this.step);
    this.ownQuestion.update(plan, this.step);
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
    const share = percent(plan.posterior[predicted], !certain(plan.ended));
    const said = h("b", {}, isolated(classes[predicted]), `, ${share}`);
    if (classes.length === 1) {
      return h("p", {}, "There is only one class, and nothing to ask: ", said, ".");
    }
    const together = () => this.app.change({ view: "you", together: true, you: [] });
    return h(
      "p",
      {},
      pieces("prediction", { belief: said, ending: ending(plan) }),
      " ",
      this.app.model.scale || (this.app.model.levels ?? 2) > 2
        ? button(together, "Answer yourself what it is not certain of", { class: "small" })
        : null,
    );
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
    if (next > 0) this.tell(next, forward);
  }

  /** @param {number} count @param {boolean} forward */
  tell(count, forward) {
    const { app, plan } = this;
    if (!plan) return;
    const step = plan.steps[count - 1];
    const words = [
      `Question ${count}: ${app.model.questions[step.query]} ${answerText(step.answer, app.model, step.query)}.`,
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
