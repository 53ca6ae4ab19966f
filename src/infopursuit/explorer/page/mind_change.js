// @ts-check
// What would change its mind? Every asked question answered the other way, one at a time; where none
// of them does, two at a time.

import { button, fill, h, hidden, isolated, quiet, titled } from "./dom.js";
import { breathe } from "./outcomes.js";
import { largest } from "./pursuit.js";
import { chip } from "./view_you.js";
import { answerText, answersTo, percent, say } from "./words.js";
/** @import { App, Image } from "./app.js" */
/** @import { Plan, Answered, WhatIf } from "./pursuit.js" */

/** @typedef {{turned: Answered[], after: Plan}} Turn  answers turned round, and what follows */

// Pairs shown at most.
const PAIRS = 3;

/** @param {Plan} plan */
function probabilityOf(plan) {
  return plan.posterior[largest(plan.posterior)];
}

export class MindChange {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.turn = 0;
    this.body = h("div", {});
    this.element = titled(
      "mind-title",
      "What would change its mind?",
      { class: "mind-change" },
      quiet("Answers turned round, and the questions after them planned again."),
      this.body,
    );
  }

  /** @param {Image} image @param {Plan} plan @param {WhatIf} whatIf */
  async update(image, plan, whatIf) {
    const turn = ++this.turn;
    const { app } = this;
    // On a server each would be a request for every question.
    if (app.predictor.remote) {
      fill(this.body, quiet("This model thinks on the server: turn answers round above."));
      return;
    }
    // What was found for another plan would change this one in ways that no one was shown.
    fill(this.body, quiet("Turning answers round \u2026"));
    const before = largest(plan.posterior);
    const changes = (/** @type {Turn} */ { after }) => largest(after.posterior) !== before;
    const surest = (/** @type {Turn} */ a, /** @type {Turn} */ b) =>
      probabilityOf(b.after) - probabilityOf(a.after);
    const current = () => turn === this.turn;
    const singles = await this.turns(image, plan, whatIf, 0, current);
    let found = singles.filter(changes).sort(surest);
    if (!found.length) {
      /** @type {Turn[]} */
      const pairs = [];
      for (const single of singles) {
        const given = givenWith(whatIf.given, single.turned);
        const start = single.after.steps.findIndex(({ query }) => query === single.turned[0].query);
        const more = await this.turns(
          image,
          single.after,
          { ...whatIf, given },
          start + 1,
          current,
        );
        for (const { turned, after } of more) {
          pairs.push({ turned: [...single.turned, ...turned], after });
        }
      }
      found = pairs.filter(changes).sort(surest).slice(0, PAIRS);
    }
    if (current()) this.show(image, plan, found);
  }

  /** Each answer from a step on turned round.
   * @param {Image} image
   * @param {Plan} plan
   * @param {WhatIf} whatIf that the plan follows from
   * @param {number} start
   * @param {() => boolean} current whether anybody still waits for it */
  async turns(image, plan, whatIf, start, current) {
    /** @type {Turn[]} */
    const turns = [];
    const { model } = this.app;
    for (let t = start; t < plan.steps.length; t++) {
      await breathe();
      if (!current()) break;
      const { query, answer: said } = plan.steps[t];
      // What comes after was chosen by the answers before it.
      const chosen = new Map([...whatIf.chosen].filter(([place]) => place <= t));
      const others = answersTo(model, query).map(({ value }) => value);
      const opposite = model.scale ? [Number(said <= 0.5)] : said === 0.5 ? [0, 1] : [1 - said];
      const values = others.filter((each) => each !== said && each !== 0.5);
      for (const answer of model.words ? values : opposite) {
        const turned = [{ query, answer }];
        const given = givenWith(whatIf.given, turned);
        const after = await this.app.plan(image, {
          ...whatIf,
          given,
          chosen,
        });
        turns.push({ turned, after });
      }
    }
    return turns;
  }

  /** @param {Image} image @param {Plan} plan @param {Turn[]} found */
  show(image, plan, found) {
    const { app } = this;
    const { classes } = app.model;
    const name = classes[largest(plan.posterior)];
    if (!plan.steps.length) {
      fill(this.body, h("p", {}, "It asks nothing, so that no answer can change it."));
      return;
    }
    if (!found.length) {
      fill(
        this.body,
        h(
          "p",
          {},
          "No two answers would: it stays with ",
          isolated(name),
          " whichever are turned round.",
        ),
      );
      return;
    }
    const pairs = found[0].turned.length > 1;
    fill(
      this.body,
      pairs ? h("p", {}, "No single answer would. Of two at a time, the surest:") : null,
      h(
        "ul",
        { class: "turns" },
        found.map((each) => this.row(image, plan, each)),
      ),
    );
  }

  /** @param {Image} image @param {Plan} plan @param {Turn} turn */
  row(image, plan, { turned, after }) {
    const { app } = this;
    const { classes, questions } = app.model;
    const top = largest(after.posterior);
    const apply = () => {
      const answers = image.answers();
      const given = givenWith(app.state.given, turned);
      for (const { query, answer } of turned) if (answers[query] === answer) given.delete(query);
      const place = plan.steps.findIndex((each) => each.query === turned[0].query);
      const chosen = new Map([...app.state.chosen].filter(([step]) => step <= place));
      app.change({ given, chosen }, { undoable: true });
    };
    const words = turned.map(
      ({ query, answer }) => `${questions[query]} ${answerText(answer, app.model, query)}`,
    );
    return h(
      "li",
      {},
      h(
        "div",
        { class: "turned" },
        turned.map(({ query, answer }) =>
          h("p", {}, isolated(questions[query]), " ", chip(answer, app.model, query)),
        ),
      ),
      h(
        "span",
        { class: "then" },
        h("b", {}, isolated(classes[top]), ` ${percent(after.posterior[top])}`),
        ` ${say("after", { count: after.steps.length })}`,
      ),
      button(apply, ["Try it", hidden(` ${words.join(", ")}`)], { class: "small" }),
    );
  }
}

/** @param {ReadonlyMap<number, number>} given @param {Answered[]} turned @returns {Map<number, number>} */
function givenWith(given, turned) {
  const all = new Map(given);
  for (const { query, answer } of turned) all.set(query, answer);
  return all;
}
