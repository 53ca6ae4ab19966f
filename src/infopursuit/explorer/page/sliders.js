// @ts-check
// When to stop: a slider for the probability, and one for the most questions.

import { button, h } from "./dom.js";
import { say } from "./words.js";
/** @import { App } from "./app.js" */

// Beyond this many questions the slider goes to all of them at once.
const LONGEST = 60;

export class Sliders {
  /** @param {App} app @param {() => void} preview is called while a slider moves */
  constructor(app, preview) {
    this.app = app;
    this.preview = preview;
    const { k } = app.model;
    this.end = Math.min(k, LONGEST + 1);
    this.sure = this.slider("Stop at a probability of", 50, 100, () => ({
      sure: Number(this.sure.input.value),
    }));
    this.most = this.slider("Ask at most", 0, this.end, () => {
      const value = Number(this.most.input.value);
      return { most: value === this.end ? /** @type {const} */ ("all") : value };
    });
    const own = button(() => app.change({ sure: null, most: null }), "The model's own rule", {
      class: "small",
    });
    this.own = own;
    this.element = h(
      "details",
      { class: "sliders", open: true },
      h("summary", {}, "When to stop"),
      this.sure.row,
      this.most.row,
      own,
    );
  }

  /** @param {string} name @param {number} least @param {number} most
   * @param {() => Partial<import("./state.js").State>} change */
  slider(name, least, most, change) {
    const id = `slider-${least}-${most}`;
    const output = h("output", { for: id });
    const input = h("input", {
      type: "range",
      id,
      min: String(least),
      max: String(most),
      step: "1",
    });
    input.addEventListener("input", () => {
      Object.assign(this.app.state, change());
      this.preview();
    });
    // The address changes once, when the hand is lifted.
    input.addEventListener("change", () => {
      location.hash = this.app.link({});
    });
    const row = h(
      "div",
      { class: "slider" },
      h("div", {}, h("label", { for: id }, name), " ", output),
      input,
    );
    return { input, output, row };
  }

  update() {
    const { app } = this;
    const { probability, max_queries: most } = app.stop();
    const sure = probability === null ? 100 : Math.round(100 * probability);
    this.set(
      this.sure,
      sure,
      probability === null ? "never" : `${Number((100 * probability).toFixed(1))} %`,
    );
    const { k } = app.model;
    const all = most === null || most >= k;
    const place = all ? this.end : Math.min(most, this.end - 1);
    this.set(
      this.most,
      place,
      all ? `all ${k.toLocaleString("en")} questions` : say("question", { count: most }),
    );
    this.own.hidden = app.state.sure === null && app.state.most === null;
  }

  /** @param {{input: HTMLInputElement, output: HTMLOutputElement}} slider
   * @param {number} place @param {string} words */
  set({ input, output }, place, words) {
    if (document.activeElement !== input) input.value = String(place);
    input.setAttribute("aria-valuetext", words);
    output.textContent = words;
  }
}
