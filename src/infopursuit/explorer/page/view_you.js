// @ts-check
// A person answers: of the class that they think of, or, with a key, of what they look at.

import { PosteriorBars } from "./bars.js";
import { ClassList, KnownAnswers } from "./beforehand.js";
import { button, choice, fill, h, heads, inRow, isolated, quiet, table, titled } from "./dom.js";
import { pictureOfImage } from "./pictures.js";
import { NaiveBayes, dialogue, largest, needed } from "./pursuit.js";
import {
  ANSWERS,
  DEGREES,
  answerClass,
  answerOf,
  answerText,
  answerWord,
  answersTo,
  certainty,
  costText,
  counted,
  isDegree,
  percent,
  probableWords,
  say,
  topClasses,
  typedNumber,
} from "./words.js";
/** @import { App } from "./app.js" */
/** @import { Answered } from "./pursuit.js" */

// The game has twenty questions.
const TWENTY = 20;
// A class "usually" answers so where at least so large a share does.
const USUAL = 0.5;
// Classes of a key that are shown as still possible: at most this many, of at least this share.
const [LEFT, POSSIBLE] = [12, 0.01];
// An answer speaks against a class if it is this many times less probable there.
const SPEAKS = 1.5;

export class YouView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.turn = 0;
    this.isKey = app.payload.key;
    /** @type {number | null} */
    this.asking = null;
    /** @type {ReadonlySet<number> | null} the classes that one may ask "why" of */
    this.barred = null;
    // Whether a person has just answered, and hears what follows.
    this.answered = false;
    this.bars = new PosteriorBars(app.model.classes);
    this.known = new KnownAnswers(app, (query) => this.degrees(query));
    const few = app.model.c <= 40 && innerWidth > 720;
    this.classList = new ClassList(app, !this.isKey && few);
    this.stage = h("div", { class: "stage" });
    this.said = h("ol", { class: "said" });
    this.show = h("input", {
      type: "checkbox",
      checked: true,
      on: { change: () => this.hideBars() },
    });
    this.belief = titled(
      "you-posterior",
      "Class probabilities",
      { class: "looks" },
      this.bars.element,
    );
    this.left = h("ul", { class: "classes" });
    this.more = quiet();
    this.reasons = h("div", { class: "scroll", tabindex: "0", role: "group" });
    this.reasonsOf = this.isKey
      ? choice(app.model.classes, (shown) => app.change({ shown }), { id: "why" })
      : null;
    this.lead = h("p", { class: "lead" });
    this.title = h("h1", {});
    this.look = h("div", { class: "look" });
    this.words = this.isKey
      ? "Look at what you have found, and answer what you can see. If you cannot tell, say not sure. " +
        "A wrong answer does not end it: change any answer below, or go on."
      : "Think of one of these classes. The model asks you up to twenty questions, and then guesses.";
    this.element = h(
      "div",
      { class: "view you-view" },
      this.title,
      this.lead,
      this.look,
      this.classList.element,
      this.known.element,
      h(
        "div",
        { class: "game" },
        h(
          "div",
          {},
          this.stage,
          h("label", { class: "quiet check" }, this.show, " show class probabilities"),
          this.said,
        ),
        this.belief,
      ),
      this.isKey ? this.possible() : null,
    );
  }

  /** What is left, and why a class is not. */
  possible() {
    return titled(
      "you-left",
      "Still possible",
      { class: "left" },
      this.left,
      this.more,
      h("h2", { id: "you-why" }, "Why, or why not?"),
      h(
        "p",
        { class: "row" },
        h("label", { for: "why" }, "What your answers say of "),
        this.reasonsOf,
      ),
      this.reasons,
    );
  }

  hideBars() {
    this.belief.hidden = !this.show.checked;
  }

  /** What a person may answer. @param {number} query */
  degrees(query) {
    const { model } = this.app;
    if (model.words) return answersTo(model, query);
    return model.table || model.scores ? DEGREES : ANSWERS;
  }

  /** @param {string} key */
  key(key) {
    if (this.asking === null) return false;
    const answer = this.degrees(this.asking).find((each) => each.letter === key);
    if (!answer) return false;
    this.answer(answer.value);
    return true;
  }

  async update() {
    const turn = ++this.turn;
    const { app } = this;
    const { model, state } = app;
    const image = state.together ? app.current : null;
    const free = this.isKey || image !== null;
    const most = this.isKey ? model.k : Math.min(model.stop.max_queries ?? TWENTY, TWENTY);
    const stop = image
      ? app.stop()
      : { ...(this.isKey ? app.stop() : model.stop), max_queries: most };
    const picture =
      image &&
      ((/** @type {number} */ query) => {
        const answer = image.answers()[query];
        return 100 * certainty(answer, model, query) >= state.below ? answer : undefined;
      });
    this.known.update();
    this.classList.update();
    const said = await dialogue(model, app.mind(), state.you, stop, picture);
    if (turn !== this.turn) return;
    const you = said.history;
    fill(
      this.title,
      image
        ? "You and the picture"
        : this.isKey
          ? isolated(app.payload.title)
          : `You are the ${app.noun}`,
    );
    this.lead.textContent = image
      ? "The picture answers what it is certain of, and you the rest. You may change any answer."
      : this.words;
    fill(
      this.look,
      image && [
        pictureOfImage(image, image.id),
        model.words ? null : this.asksBelow(),
        button(() => app.change({ together: false, you: [] }), "Answer all myself", {
          class: "small",
        }),
      ],
    );
    const posterior = said.posteriors[said.posteriors.length - 1];
    const focused = document.activeElement?.getAttribute("data-answer");
    this.asking = said.next?.query ?? null;
    const [prior] = said.posteriors;
    this.bars.update(posterior, {
      stop: needed(model.stop.probability, prior, largest(posterior)),
      classes: state.classes,
    });
    this.history(you, said.posteriors);
    this.said.hidden = this.asking === null && app.state.was !== null;
    if (this.asking !== null) this.ask(this.asking, free ? null : most, you);
    else if (free) this.name(posterior, said.more, you);
    else if (app.state.was === null) this.guess(posterior);
    else this.compare(app.state.was, posterior);
    if (this.isKey) this.showPossible(you, posterior);
    if (this.answered && you.length) this.tell(you[you.length - 1], posterior);
    this.answered = false;
    const again = focused ? this.stage.querySelector(`[data-answer="${focused}"]`) : null;
    if (again) /** @type {HTMLElement} */ (again).focus();
    else if (focused) this.focusStage();
  }

  /** How certain an answer of the picture has to be. */
  asksBelow() {
    const input = h("input", {
      type: "number",
      min: "50",
      max: "100",
      step: "5",
      value: String(this.app.state.below),
      "aria-describedby": "ask-below",
    });
    input.addEventListener("change", () => {
      const below = Math.min(100, Math.max(50, Math.round(Number(input.value)) || 100));
      this.app.change({ below }, { undoable: true });
    });
    return h(
      "p",
      {},
      h("label", {}, "Ask me below a certainty of ", input, " %"),
      h(
        "span",
        { class: "quiet", id: "ask-below" },
        " Yes and no are certain to 100 %, probably and probably not to 75, not sure to 50.",
      ),
    );
  }

  focusStage() {
    const heading = /** @type {HTMLElement | null} */ (this.stage.querySelector("h2"));
    heading?.focus();
  }

  /** What the next question costs, and what has been spent on those before it.
   * @param {Answered[]} you @param {number | null} [query] */
  spending(you, query = null) {
    const { costs } = this.app;
    if (!costs) return null;
    const spent = you.reduce((sum, each) => sum + costs[each.query], 0);
    const price = query === null ? "" : `It costs ${costText(costs[query])}. `;
    return quiet(price, `Spent so far: ${costText(spent)}.`);
  }

  /** @param {number} query @param {number | null} most @param {Answered[]} you */
  ask(query, most, you) {
    const { app } = this;
    const asked = you.length;
    const left = app.model.k - app.state.known.size;
    const question = app.model.questions[query];
    const degrees = this.degrees(query);
    const choices = degrees.every(({ word }) => isDegree(word)) ? "" : " choices";
    fill(
      this.stage,
      quiet(
        most === null
          ? `Question ${asked + 1}`
          : `Question ${asked + 1} of at most ${Math.min(most, left)}`,
      ),
      h("h2", { class: "big", tabindex: "-1" }, isolated(question)),
      this.spending(you, query),
      h(
        "div",
        { class: `row${choices}`, role: "group", "aria-label": "Your answer" },
        degrees.map(({ word, value }) =>
          button(() => this.answer(value), word, {
            class: `reply ${isDegree(word) ? word.replace(" ", "-") : "value"}`,
            "data-answer": word,
          }),
        ),
      ),
      app.model.cuts?.[query].length ? this.numberField(query) : null,
      inRow(this.undoing()),
    );
  }

  /** Where a number is typed. @param {number} query */
  numberField(query) {
    const input = h("input", { type: "text", inputmode: "decimal", id: "number", size: "8" });
    const wrong = h("span", { class: "quiet", role: "status" });
    const take = (/** @type {Event} */ event) => {
      event.preventDefault();
      const number = typedNumber(input.value);
      if (number === null) wrong.textContent = "Expected a number, such as 2.5.";
      else this.answer(answerOf(this.app.model, query, number));
    };
    return h(
      "form",
      { class: "row", on: { submit: take } },
      h("label", { for: "number" }, "or a number: "),
      input,
      h("button", { type: "submit", class: "small" }, "Answer"),
      wrong,
    );
  }

  /** @param {number} value */
  answer(value) {
    const { app } = this;
    if (this.asking === null) return;
    const you = [...app.state.you, { query: this.asking, answer: value }];
    this.answered = true;
    app.change({ you, was: null }, { undoable: true });
  }

  /** @param {Answered} last @param {Float64Array} posterior */
  tell(last, posterior) {
    const { app } = this;
    const next = this.stage.querySelector("h2")?.textContent ?? "";
    const said = answerText(last.answer, app.model, last.query);
    app.announce(`${said}. ${probableWords(app.model, posterior)}. ${next}`);
  }

  back() {
    this.app.change({ you: this.app.state.you.slice(0, -1), was: null }, { undoable: true });
  }

  again() {
    this.app.change({ you: [], was: null, sure: null }, { undoable: true });
    this.focusStage();
  }

  /** Buttons that take answers back: the last one, or all. */
  undoing() {
    const none = this.app.state.you.length === 0;
    return [
      button(() => this.back(), "Take the last answer back", { class: "small", disabled: none }),
      button(() => this.again(), "Start again", { class: "small", disabled: none }),
    ];
  }

  /** What a key names. @param {Float64Array} posterior @param {boolean} more questions are left
   * @param {Answered[]} you */
  name(posterior, more, you) {
    const { app } = this;
    const { classes } = app.model;
    const top = largest(posterior);
    const picture = app.test.find((image) => image.label === top && image.thumbnail);
    fill(
      this.stage,
      quiet(say("sure", { count: you.length, probability: percent(posterior[top], true) })),
      h("h2", { class: "big", tabindex: "-1" }, isolated(classes[top])),
      picture ? pictureOfImage(picture, "") : null,
      this.spending(you),
      inRow(
        button(() => app.change({ sure: 100 }, { undoable: true }), "Ask on, to be surer", {
          class: "small",
          disabled: !more,
        }),
        this.undoing(),
      ),
    );
  }

  /** The classes that are left, and what the answers say of one of all.
   * @param {Answered[]} you @param {Float64Array} posterior */
  showPossible(you, posterior) {
    const { app } = this;
    const { classes } = app.model;
    const { classes: possible } = app.state;
    const best = topClasses(posterior, LEFT).filter((y) => !possible || possible.has(y));
    const left = best.filter((y) => posterior[y] >= POSSIBLE);
    const more = (possible?.size ?? classes.length) - left.length;
    fill(
      this.left,
      left.map((y) => {
        const sample = app.test.find((image) => image.label === y && image.thumbnail);
        return h(
          "li",
          {},
          sample ? pictureOfImage(sample, "") : null,
          button(() => app.change({ shown: y }), isolated(classes[y]), {
            class: "plain",
            "aria-label": `${classes[y]}: why, or why not?`,
          }),
          h("span", { class: "quiet" }, percent(posterior[y])),
        );
      }),
    );
    this.more.textContent = more > 0 ? `${counted(more, "other")}, each less probable` : "";
    const wanted = app.state.shown;
    const shown = wanted !== null && (!possible || possible.has(wanted)) ? wanted : best[0];
    if (this.reasonsOf) this.reasonsOf.value = String(shown);
    if (this.reasonsOf && this.barred !== possible) {
      this.barred = possible;
      for (const [y, option] of [...this.reasonsOf.options].entries()) {
        option.disabled = possible !== null && !possible.has(y);
      }
    }
    fill(this.reasons, this.because(you, shown, best[0] === shown ? (best[1] ?? shown) : best[0]));
  }

  /** How much more or less probable each answer is in a class than in another, after those before it.
   * @param {Answered[]} you @param {number} y @param {number} other */
  because(you, y, other) {
    const { app } = this;
    const { classes, questions } = app.model;
    const mind = app.mind();
    const { predictor } = mind;
    const heard = [...mind.known, ...you];
    if (!heard.length || !(predictor instanceof NaiveBayes)) {
      return quiet("There is no answer yet.");
    }
    const evidence = predictor.evidence([]);
    const apart = () => predictor.evidenceOf(evidence, y) - predictor.evidenceOf(evidence, other);
    let before = apart();
    const rows = heard.map((answered) => {
      predictor.add(evidence, answered);
      const after = apart();
      const factor = Math.exp(after - before);
      before = after;
      return { ...answered, usual: app.usual(answered.query, y), factor };
    });
    const speaks = (/** @type {number} */ factor) => {
      const times = factor > 1 ? factor : 1 / factor;
      if (times < 1.05) return "nothing";
      return `${times.toFixed(times < 10 ? 1 : 0)} times ${factor > 1 ? "more" : "less"} probable`;
    };
    return table(
      { class: "compared" },
      heads(["Question", "You", "This class, usually", "Your answer says"]),
      rows.map(({ query, answer, usual, factor }) =>
        h(
          "tr",
          { class: factor < 1 / SPEAKS ? "differ" : "" },
          h(
            "th",
            { scope: "row" },
            isolated(questions[query]),
            app.state.known.has(query) ? [" ", h("span", { class: "tag" }, say("known"))] : null,
          ),
          h("td", {}, chip(answer, app.model, query)),
          h("td", {}, chip(usual.value, app.model, query), ` ${percent(usual.rate)}`),
          h("td", {}, speaks(factor)),
        ),
      ),
      h(
        "caption",
        { class: "quiet" },
        isolated(classes[y]),
        " compared with ",
        isolated(classes[other]),
      ),
    );
  }

  /** @param {Float64Array} posterior */
  guess(posterior) {
    const { app } = this;
    const { classes } = app.model;
    const top = largest(posterior);
    const select = h(
      "select",
      { id: "was" },
      classes.map((name, y) =>
        h("option", { value: String(y), hidden: !(app.state.classes?.has(y) ?? true) }, name),
      ),
    );
    select.value = String(top);
    const reveal = (/** @type {number} */ was) => {
      app.change({ was }, { undoable: true });
      setTimeout(() => this.focusStage(), 0);
    };
    fill(
      this.stage,
      quiet(
        say("sure", { count: app.state.you.length, probability: percent(posterior[top], true) }),
      ),
      h("h2", { class: "big", tabindex: "-1" }, "Is it ", isolated(classes[top]), "?"),
      this.spending(app.state.you),
      inRow(
        button(() => reveal(top), "Yes, that is it", { class: "primary", "data-answer": "right" }),
      ),
      inRow(
        h("label", { for: "was" }, "No, I thought of "),
        select,
        button(() => reveal(Number(select.value)), "Show where we differ", {
          "data-answer": "wrong",
        }),
      ),
      inRow(this.undoing()),
    );
  }

  /** Where a person's answers and those of the class's images differ. @param {number} was
   * @param {Float64Array} posterior */
  compare(was, posterior) {
    const { app } = this;
    const { classes, questions } = app.model;
    const guessed = largest(posterior) === was;
    const rows = app.state.you.map(({ query, answer }) => {
      const usual = app.usual(query, was);
      const other = app.model.words
        ? usual.value !== answer
        : answerWord(usual.value) !== answerWord(answer);
      const differ = other && usual.rate >= USUAL;
      return { query, answer, usual, differ };
    });
    const differing = rows.filter((each) => each.differ).length;
    const heading = guessed ? "It guessed right: " : "It guessed wrong. You thought of ";
    const verdict = differing
      ? `You and CLIP answer ${counted(differing, "question")} of ${rows.length} differently for this class.`
      : "Your answers are those that CLIP usually gives for this class.";
    fill(
      this.stage,
      h("h2", { class: "big", tabindex: "-1" }, heading, isolated(classes[was])),
      h("p", {}, verdict),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": "Answers compared" },
        table(
          { class: "compared" },
          heads(["Question", "You", "CLIP, usually"]),
          rows.map(({ query, answer, usual, differ }) =>
            h(
              "tr",
              { class: differ ? "differ" : "" },
              h(
                "th",
                { scope: "row" },
                isolated(questions[query]),
                differ ? [" ", h("span", { class: "tag" }, "differs")] : null,
              ),
              h("td", {}, chip(answer, app.model, query)),
              h("td", {}, chip(usual.value, app.model, query), ` ${percent(usual.rate)}`),
            ),
          ),
        ),
      ),
      inRow(
        button(() => this.again(), "Play again", { class: "primary" }),
        h(
          "a",
          { href: app.link({ view: "classes", shown: was }) },
          "How it knows ",
          isolated(classes[was]),
        ),
      ),
    );
  }

  /** @param {Answered[]} you @param {Float64Array[]} posteriors */
  history(you, posteriors) {
    const { app } = this;
    fill(
      this.said,
      you.map(({ query, answer }, i) =>
        h(
          "li",
          {},
          isolated(app.model.questions[query]),
          " ",
          this.isKey || app.state.together
            ? this.changeable(query, answer)
            : chip(answer, app.model, query),
          app.state.together && !app.state.you.some((each) => each.query === query)
            ? h("span", { class: "tag" }, "picture")
            : null,
          " ",
          h("span", { class: "quiet" }, probableWords(app.model, posteriors[i + 1], 1)),
        ),
      ),
    );
  }

  /** An answer that can be changed; those after it stay. @param {number} query
   * @param {number} said */
  changeable(query, said) {
    const { app } = this;
    const select = h(
      "select",
      {
        "aria-label": `Your answer to ${app.model.questions[query]}`,
        on: {
          change: () => {
            const changed = { query, answer: Number(select.value) };
            const { you } = app.state;
            const place = you.findIndex((each) => each.query === query);
            const all = place < 0 ? [...you, changed] : you.with(place, changed);
            app.change({ you: all, was: null }, { undoable: true });
          },
        },
      },
      this.degrees(query).map(({ word, value }) => h("option", { value: String(value) }, word)),
    );
    select.value = String(said);
    return select;
  }
}

/** An answer. @param {number} answer @param {import("./payload.js").Model} model
 * @param {number} query */
export function chip(answer, model, query) {
  const said = answerText(answer, model, query);
  return h("span", { class: `answer ${answerClass(answer, model, query)}` }, said);
}
