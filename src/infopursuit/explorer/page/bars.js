// @ts-check
// Bars that views share: the posterior, and shares.

import { h, keyed, mayMove, isolated } from "./dom.js";
import { percent, percents, topClasses } from "./words.js";
/** @import { App } from "./app.js" */

const MOVING = { duration: 320, easing: "cubic-bezier(0.2, 0.7, 0.2, 1)" };

// Classes that differ by less are tied: none of them leads.
const TIED = 5e-7;

/** A bar of a share; the number stands next to it. @param {number} share @param {string} [kind] */
export function shareBar(share, kind = "") {
  return h("span", {
    class: `bar ${kind}`,
    "aria-hidden": "true",
    style: { "--share": String(Math.min(Math.max(share, 0), 1)) },
  });
}

/** A class with the bar of a share, which leads to the class.
 * @param {App} app @param {number} y @param {number} share @param {...HTMLElement} more */
export function classRow(app, y, share, ...more) {
  const href = app.link({ view: "classes", shown: y, beside: null });
  return h(
    "li",
    {},
    h("span", { class: "name" }, h("a", { href }, isolated(app.model.classes[y]))),
    shareBar(share),
    h("span", { class: "number" }, percent(share)),
    more,
  );
}

/** The posterior: the most probable classes, and all others together. */
export class PosteriorBars {
  /** @param {string[]} classes @param {number} [shown] how many classes have a bar */
  constructor(classes, shown = 8) {
    this.classes = classes;
    // A bar for "1 other" would take the place of that other.
    this.shown = classes.length === shown + 1 ? shown + 1 : shown;
    this.list = h("ol", { class: "bars" });
    this.element = h("div", { class: "posterior" }, this.list);
  }

  /** @param {ArrayLike<number>} posterior
   * @param {{truth?: number | null, stop?: number | null, classes?: ReadonlySet<number> | null}} [marks]
   *   the true class, the probability at which questions stop, and the classes that are possible */
  update(posterior, { truth = null, stop = null, classes = null } = {}) {
    const possible = Float64Array.from(posterior, (p, y) => (!classes || classes.has(y) ? p : -1));
    const count = classes?.size ?? this.classes.length;
    const top = topClasses(possible, Math.min(this.shown, count));
    const rest = 1 - top.reduce((sum, each) => sum + posterior[each], 0);
    const others = count - top.length;
    const rows = top.map((each, place) => ({
      key: each,
      name: this.classes[each],
      share: posterior[each],
      kind: place === 0 && posterior[each] > (posterior[top[1]] ?? 0) + TIED ? "leader" : "",
      truth: each === truth,
    }));
    if (others > 0) {
      rows.push({ key: -1, name: `${others} others`, share: rest, kind: "rest", truth: false });
    }
    const said = percents(rows.map((row) => row.share));
    /** @type {Map<string, {top: number, share: number}>} */
    const before = new Map();
    if (mayMove()) {
      for (const child of this.list.children) {
        const row = /** @type {HTMLElement} */ (child);
        before.set(row.dataset.key ?? "", { top: row.offsetTop, share: Number(row.dataset.share) });
      }
    }
    this.element.style.setProperty("--stop", String(stop ?? 2));
    keyed(
      this.list,
      rows,
      (row) => row.key,
      () => h("li", {}, h("span", { class: "name" }), shareBar(0), h("span", { class: "number" })),
      (element, row) => {
        const [name, bar, number] = element.children;
        element.className = row.kind;
        element.dataset.share = row.share;
        const tag = row.truth ? [" ", h("span", { class: "tag" }, "true")] : [];
        name.replaceChildren(isolated(row.name), ...tag);
        bar.style.setProperty("--share", String(row.share));
        number.textContent = said[rows.indexOf(row)];
      },
    );
    // With the frame, when all else has changed, too: the page is laid out once.
    if (before.size) requestAnimationFrame(() => this.move(before));
  }

  /** Rows glide to their new places, and bars to their new lengths.
   * @param {Map<string, {top: number, share: number}>} before */
  move(before) {
    const rows = /** @type {HTMLElement[]} */ (Array.from(this.list.children));
    const tops = rows.map((row) => row.offsetTop);
    rows.forEach((row, place) => {
      const old = before.get(row.dataset.key ?? "");
      if (!old) return;
      const moved = old.top - tops[place];
      if (moved) {
        row.animate([{ transform: `translateY(${moved}px)` }, { transform: "none" }], MOVING);
      }
      row.children[1].animate(
        [{ "--share": String(old.share) }, { "--share": row.dataset.share }],
        MOVING,
      );
    });
  }
}
