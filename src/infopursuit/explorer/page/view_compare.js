// @ts-check
// Two models on the same image, side by side.

import { PosteriorBars } from "./bars.js";
import { fill, h, isolated, quiet, titled } from "./dom.js";
import {
  CLEAN,
  Growing,
  Picker,
  card,
  pictureName,
  pictureOfImage,
  trueClass,
} from "./pictures.js";
import { largest, needed } from "./pursuit.js";
import { chip } from "./view_you.js";
import { counted, percent, precisePercent, probableWords, stopsWhen } from "./words.js";
/** @import { App, Image } from "./app.js" */

export class CompareView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.turn = 0;
    this.picker = new Picker(app, (image) => app.change({ ...CLEAN, image: image.id }));
    this.figure = h("figure", { class: "picture" });
    this.sides = app.payload.models.map((model, number) => {
      const bars = new PosteriorBars(model.classes, 5);
      const steps = h("ol", { class: "said" });
      const outcome = h("p", { class: "outcome" });
      const id = `model-${number}`;
      const element = titled(
        id,
        isolated(model.name),
        { class: "side" },
        outcome,
        bars.element,
        steps,
      );
      return { bars, steps, outcome, element };
    });
    this.agree = quiet(`Asking all ${app.noun}s …`);
    this.gallery = h("ul", { class: "gallery" });
    this.growing = new Growing(
      this.gallery,
      (/** @type {{image: Image, words: (Node | string)[]}} */ { image, words }) => {
        const link = card(app, image, ...words);
        link.href = app.link({ ...CLEAN, view: "compare", image: image.id });
        return h("li", {}, link);
      },
    );
    this.element = h(
      "div",
      { class: "view compare-view" },
      h("h1", {}, "Do two models agree?"),
      h("p", { class: "lead" }, `The same ${app.noun}, each model with its own questions.`),
      this.picker.element,
      this.figure,
      h(
        "div",
        { class: "columns" },
        this.sides.map((side) => side.element),
      ),
      titled("differ-title", "Where they differ", {}, this.agree, this.gallery),
    );
  }

  async update() {
    const turn = ++this.turn;
    const { app } = this;
    const image = app.current;
    this.picker.mark();
    if (!image) {
      fill(this.figure, quiet(`This page holds no ${app.noun}.`));
      return;
    }
    const truth = trueClass(app, image);
    fill(
      this.figure,
      pictureOfImage(image, `The ${app.noun} ${pictureName(app, image)}`),
      h(
        "figcaption",
        {},
        truth ? ["True class: ", h("b", {}, isolated(truth))] : isolated(image.id),
      ),
    );
    const plans = await Promise.all(
      app.payload.models.map((_, number) => app.plan(number, image, {})),
    );
    if (turn !== this.turn) return;
    this.sides.forEach(({ bars, steps, outcome }, number) => {
      const model = app.payload.models[number];
      const { steps: taken, prior, posterior } = plans[number];
      const top = largest(posterior);
      bars.update(posterior, {
        truth: image.label,
        stop: needed(model.stop.probability, prior, top),
      });
      fill(
        outcome,
        h("b", {}, isolated(model.classes[top]), ` ${percent(posterior[top])}`),
        ` after ${counted(taken.length, "question")} (stops ${stopsWhen(model.stop)})`,
      );
      const other = new Set(
        plans[1 - number]?.steps.map((step) => app.payload.models[1 - number].queries[step.query]),
      );
      fill(
        steps,
        taken.map((step) =>
          h(
            "li",
            {},
            isolated(model.questions[step.query]),
            " ",
            chip(step.answer, model, step.query),
            " ",
            h("span", { class: "quiet" }, probableWords(model, step.posterior, 1)),
            other.has(model.queries[step.query])
              ? [" ", h("span", { class: "tag" }, "both ask")]
              : null,
          ),
        ),
      );
    });
    app.announce(
      plans
        .map(
          (each, number) =>
            `${app.payload.models[number].name}: ${probableWords(app.payload.models[number], each.posterior, 1)}`,
        )
        .join(". "),
    );
    if (!this.growing.items.length) await this.showDiffering();
  }

  async showDiffering() {
    const { app } = this;
    const [one, two] = await Promise.all([app.outcomes(0), app.outcomes(1)]);
    const [a, b] = app.payload.models;
    const images = app.scorable;
    let same = 0;
    /** @type {{image: Image, words: (Node | string)[]}[]} */
    const differing = [];
    images.forEach((image, i) => {
      const names = [a.classes[one.predicted[i]], b.classes[two.predicted[i]]];
      if (names[0] === names[1]) same++;
      else {
        differing.push({
          image,
          words: [
            h("span", {}, isolated(a.name), ": ", h("b", {}, isolated(names[0]))),
            h("span", {}, isolated(b.name), ": ", h("b", {}, isolated(names[1]))),
            h("span", { class: "quiet" }, "is ", isolated(trueClass(app, image))),
          ],
        });
      }
    });
    this.agree.textContent = images.length
      ? `They agree on ${precisePercent(same / images.length)} of ${counted(images.length, this.app.scoredNoun)}.`
      : `This page holds no test ${this.app.noun}.`;
    this.growing.show(differing.filter((each) => each.image.thumbnail));
  }
}
