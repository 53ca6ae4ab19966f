// @ts-check
// What is known of the classes: shown, corrected cell by cell, and given as a table for `infopursuit fit`.

import { button, fill, h, inRow, quiet } from "./dom.js";
import { counted } from "./words.js";
/** @import { Knowledge, Model } from "./payload.js" */

// By value: not true, true of some pictures, true, not known; in words, and in the table.
const WORDS = ["not true", "of some", "true", "not known"];
const CELLS = ["0", "0.5", "1", ""];
// In the order that a person reads.
const ORDER = [2, 1, 0, 3];

export class ClassTable {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.known = /** @type {Knowledge} */ (model.knowledge);
    /** @type {Map<number, number>} the values that were there before, by place */
    this.before = new Map();
    this.count = quiet();
    this.element = h("div", { class: "class-table" }, this.count);
    this.show();
  }

  /** @param {number} query @param {number} y */
  place(query, y) {
    return y * this.known.texts.length + this.known.columns[query];
  }

  /** How many classes a text is true of by the table. @param {number} query */
  words(query) {
    const { values } = this.known;
    const given = this.model.classes.map((_, y) => values[this.place(query, y)]);
    if (given.every((each) => each === 3)) return "not in the table";
    return `by its table true of ${counted(given.filter((each) => each === 2).length, "class", "classes")}`;
  }

  /** A cell to correct. @param {number} query @param {number} y */
  cell(query, y) {
    const place = this.place(query, y);
    const { texts, values } = this.known;
    const label = `${texts[this.known.columns[query]]}, ${this.model.classes[y]}`;
    const select = h(
      "select",
      { class: "cell", "aria-label": label },
      ORDER.map((value) => h("option", { value: String(value) }, WORDS[value])),
    );
    select.value = String(values[place]);
    select.addEventListener("change", () => this.correct(place, Number(select.value)));
    return select;
  }

  /** @param {number} place @param {number} value */
  correct(place, value) {
    const { values } = this.known;
    const first = this.before.get(place) ?? values[place];
    values[place] = value;
    if (value === first) this.before.delete(place);
    else this.before.set(place, first);
    this.show();
  }

  show() {
    const { size } = this.before;
    this.count.textContent = size
      ? `You corrected ${counted(size, "cell")} of what is known of the classes; a model fitted with the table knows it.`
      : "“By class” shows what the model took as true of each class, and lets you correct it.";
    const save = button(() => this.save(), "Save the table", { disabled: size === 0 });
    fill(
      this.element,
      this.count,
      inRow(save, quiet("infopursuit fit photos --knowledge table.csv")),
    );
  }

  /** The table as `infopursuit fit --knowledge` reads it. */
  csv() {
    const { texts, values } = this.known;
    const row = (/** @type {string[]} */ cells) =>
      `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",")}\n`;
    const rows = this.model.classes.map((name, y) =>
      row([name, ...texts.map((_, text) => CELLS[values[y * texts.length + text]])]),
    );
    return row(["class", ...texts]) + rows.join("");
  }

  save() {
    const address = URL.createObjectURL(new Blob([this.csv()], { type: "text/csv" }));
    h("a", { href: address, download: "table.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }
}
