// @ts-check
// What would change its mind? Every asked question answered the other way, one at a time.

import { fill, h, hidden, told } from "./dom.js";
import { breathe } from "./outcomes.js";
import { largest } from "./pursuit.js";
import { answerText, counted, percent } from "./words.js";
/** @import { App, Image } from "./app.js" */
/** @import { Plan, WhatIf } from "./pursuit.js" */

export class MindChange {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.turn = 0;
    this.body = h("div", {});
    this.element = h(
      "section",
      { class: "mind-change", "aria-labelledby": "mind-title" },
      h("h2", { id: "mind-title" }, "What would change its mind?"),
      h(
        "p",
        { class: "quiet" },
        "One answer turned round, and the questions after it planned anew.",
      ),
      this.body,
    );
  }

  /** @param {Image} image @param {Plan} plan @param {WhatIf} whatIf */
  async update(image, plan, whatIf) {
    const turn = ++this.turn;
    const { app } = this;
    const number = app.state.model;
    const before = largest(plan.posterior);
    // On a server each would be a request for every question.
    if (app.minds[number].remote) {
      fill(
        this.body,
        h("p", { class: "quiet" }, "This model thinks on the server: turn answers round above."),
      );
      return;
    }
    /** @type {{query: number, answer: number, after: Plan}[]} */
    const found = [];
    for (const [t, step] of plan.steps.entries()) {
      await breathe();
      if (turn !== this.turn) return;
      const answer = step.answer >= 0.5 ? 0 : 1;
      const turned = [answer, ...(step.answer === 0.5 ? [1] : [])];
      for (const each of turned) {
        const chosen = new Map([...whatIf.chosen].filter(([place]) => place <= t));
        const given = new Map(whatIf.given).set(step.query, each);
        const after = await app.plan(number, image, { ...whatIf, given, chosen });
        if (largest(after.posterior) !== before) {
          found.push({ query: step.query, answer: each, after });
        }
      }
    }
    if (turn !== this.turn) return;
    found.sort(
      (a, b) =>
        b.after.posterior[largest(b.after.posterior)] -
        a.after.posterior[largest(a.after.posterior)],
    );
    this.show(image, plan, found);
  }

  /** @param {Image} image @param {Plan} plan @param {{query: number, answer: number, after: Plan}[]} found */
  show(image, plan, found) {
    const { app } = this;
    const { classes, questions } = app.model;
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
          "No single answer would: it stays with ",
          told(name),
          " whichever one is turned round.",
        ),
      );
      return;
    }
    fill(
      this.body,
      h(
        "ul",
        { class: "turns" },
        found.map(({ query, answer, after }) => {
          const top = largest(after.posterior);
          const apply = () => {
            const given = new Map(app.state.given).set(query, answer);
            if (image.answers(app.state.model)[query] === answer) given.delete(query);
            const place = plan.steps.findIndex((each) => each.query === query);
            const chosen = new Map([...app.state.chosen].filter(([step]) => step <= place));
            app.change({ given, chosen }, { undoable: true });
          };
          return h(
            "li",
            {},
            h("span", { class: "asked" }, told(questions[query])),
            h("span", { class: `answer ${answer ? "yes" : "no"}` }, answerText(answer)),
            h(
              "span",
              { class: "then" },
              h("b", {}, told(classes[top]), ` ${percent(after.posterior[top])}`),
              ` after ${counted(after.steps.length, "question")}`,
            ),
            h(
              "button",
              { type: "button", class: "small", on: { click: apply } },
              "Try it",
              hidden(` ${questions[query]} ${answerText(answer)}`),
            ),
          );
        }),
      ),
    );
  }
}
