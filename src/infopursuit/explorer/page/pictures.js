// @ts-check
// Images as the page shows them: one, a strip to pick from, a gallery that grows as it is scrolled.

import { button, choice, fill, h, inRow, isolated, quiet } from "./dom.js";
import { capital, counted } from "./words.js";
/** @import { App, Image } from "./app.js" */

// Pictures put on the page at a time.
const PORTION = 60;

/** @param {App} app @param {Image} image the true class in words, "" where it is not known */
export function trueClass(app, image) {
  return image.label === null ? "" : (app.model.classes[image.label] ?? "");
}

/** @param {App} app @param {Image} image what a screen reader says of it */
export function pictureName(app, image) {
  const name = trueClass(app, image);
  return name ? `${image.id}, ${name}` : image.id;
}

/** @param {Image} image @param {string} alt */
export function pictureOfImage(image, alt) {
  if (!image.thumbnail) {
    return h(
      "span",
      { class: "thumb none", role: alt ? "img" : null, "aria-label": alt || null },
      image.id,
    );
  }
  return h("img", {
    class: "thumb",
    src: image.thumbnail,
    alt,
    decoding: "async",
    loading: "lazy",
  });
}

/** Puts items on the page portion by portion, as their end comes into view.
 * @template Item */
export class Growing {
  /** @param {HTMLElement} parent @param {(item: Item, place: number) => HTMLElement} make */
  constructor(parent, make) {
    this.parent = parent;
    this.make = make;
    /** @type {Item[]} */
    this.items = [];
    this.shown = 0;
    this.end = h(parent.tagName === "UL" ? "li" : "span", { class: "end", "aria-hidden": "true" });
    this.observer = new IntersectionObserver(
      (entries) => entries.some((each) => each.isIntersecting) && this.grow(),
      { rootMargin: "400px" },
    );
  }

  /** @param {Item[]} items */
  show(items) {
    this.items = items;
    this.shown = 0;
    this.parent.replaceChildren();
    this.grow();
  }

  /** @param {number} [least] at least this many in all */
  grow(least = 0) {
    const end = Math.min(Math.max(this.shown + PORTION, least), this.items.length);
    this.end.remove();
    const added = document.createDocumentFragment();
    for (; this.shown < end; this.shown++) {
      added.append(this.make(this.items[this.shown], this.shown));
    }
    this.parent.append(added);
    this.observer.disconnect();
    if (end < this.items.length) {
      this.parent.append(this.end);
      this.observer.observe(this.end);
    }
  }
}

/** A strip of images, one of which is picked: one tab stop, then arrow keys. */
export class Picker {
  /** @param {App} app @param {(image: Image) => void} pick */
  constructor(app, pick) {
    this.app = app;
    this.pick = pick;
    this.yours = 0;
    this.list = h("div", {
      class: "strip",
      role: "listbox",
      "aria-label": `${capital(app.noun)}s`,
      "aria-orientation": "horizontal",
    });
    this.count = h("span", { class: "quiet" });
    this.growing = new Growing(this.list, (/** @type {Image} */ image) => this.option(image));
    this.filter = choice(app.model.classes, () => this.show(true), { any: "all classes" });
    const random = button(() => this.random(), `Random ${app.noun}`);
    const label = h("label", {}, "Show ", this.filter);
    this.element = h("div", { class: "picker" }, inRow(label, random, this.count), this.list);
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.show(false);
  }

  random() {
    const { items } = this.growing;
    if (items.length) this.choose(items[Math.floor(Math.random() * items.length)]);
  }

  /** @param {boolean} chosen whether a person chose the class */
  show(chosen) {
    this.yours = this.app.yours.length;
    const label = this.filter.value === "" ? null : Number(this.filter.value);
    const all = [...this.app.yours, ...this.app.test];
    const images = all.filter((each) => label === null || each.label === label);
    this.growing.show(images);
    this.count.textContent = counted(images.length, this.app.noun);
    if (chosen && images.length) this.choose(images[0]);
    this.mark();
  }

  /** @param {Image} image */
  option(image) {
    const thumb = pictureOfImage(image, "");
    const option = button(() => this.choose(image), thumb, {
      role: "option",
      class: "option",
      "data-id": image.id,
      "aria-label": pictureName(this.app, image),
    });
    this.markOption(option);
    return option;
  }

  /** @param {Element} element */
  markOption(element) {
    const picked = element.getAttribute("data-id") === this.app.current?.id;
    element.setAttribute("aria-selected", String(picked));
    element.setAttribute("tabindex", picked ? "0" : "-1");
  }

  /** Show which one is picked; a picture that a person gave may have come meanwhile. */
  mark() {
    if (this.yours !== this.app.yours.length) {
      this.show(false);
      return;
    }
    const id = this.app.current?.id;
    const place = this.growing.items.findIndex((each) => each.id === id);
    if (place >= this.growing.shown) this.growing.grow(place + 1);
    for (const option of this.list.querySelectorAll(".option")) this.markOption(option);
    const first = this.list.querySelector(".option");
    if (place < 0 && first) first.setAttribute("tabindex", "0");
    const picked = /** @type {HTMLElement | null} */ (
      this.list.querySelector('[aria-selected="true"]')
    );
    if (picked) {
      const middle = picked.offsetLeft - (this.list.clientWidth - picked.offsetWidth) / 2;
      this.list.scrollTo({ left: middle });
    }
  }

  /** @param {Image} image */
  choose(image) {
    this.pick(image);
    this.mark();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { items } = this.growing;
    const focused = document.activeElement?.getAttribute("data-id");
    const at = items.findIndex((each) => each.id === focused);
    const goal = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: items.length - 1 }[
      event.key
    ];
    if (at < 0 || goal === undefined || !items[goal]) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(items[goal]);
    const option = this.list.querySelector(`[data-id="${CSS.escape(items[goal].id)}"]`);
    /** @type {HTMLElement | null} */ (option)?.focus();
  }
}

/** A picture with words below it, which leads to the image.
 * @param {App} app @param {Image} image @param {...(Node | string)} words */
export function card(app, image, ...words) {
  const link = h("a", {
    class: "card",
    href: app.link({ ...CLEAN, view: "image", image: image.id }),
  });
  fill(link, pictureOfImage(image, words.length ? "" : pictureName(app, image)));
  if (words.length) link.append(h("span", { class: "words" }, words));
  return link;
}

/** No what-if: another image begins without the changes made to the last. */
export const CLEAN = Object.freeze({
  given: new Map(),
  struck: new Set(),
  chosen: new Map(),
});

/** @param {App} app @param {Image[]} images at most as many as are worth showing @param {string} none */
export function smallGallery(app, images, none) {
  if (!images.length) return quiet(none);
  return h(
    "ul",
    { class: "thumbs" },
    images.map((image) =>
      h("li", {}, card(app, image, isolated(trueClass(app, image) || image.id))),
    ),
  );
}
