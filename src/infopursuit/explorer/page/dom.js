// @ts-check
// Elements of the page. Texts become text nodes and styles go through the object model: nothing from
// a model, a file name or a class name is ever parsed as HTML, CSS or a script.

/**
 * @typedef {Node | string | number | null | false | undefined} Child
 * @typedef {{class?: string, on?: Record<string, (event: any) => void>,
 *   style?: Record<string, string>, [attribute: string]: any}} Attributes
 */

/** An element. `on` holds listeners, `style` properties, all else are attributes; null and false
 * leave an attribute out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]} */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  const { on = {}, style = {}, ...plain } = attributes;
  for (const [name, value] of Object.entries(plain)) setAttribute(element, name, value);
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value);
  append(element, children);
  return element;
}

/** A button. @param {(event: any) => void} press @param {Child | Child[]} words
 * @param {Attributes} [attributes] */
export function button(press, words, attributes = {}) {
  return h("button", { type: "button", ...attributes, on: { click: press } }, words);
}

/** A section that its heading names.
 * @param {string} id of the heading @param {Child} title @param {Attributes} attributes
 * @param {...(Child | Child[])} children */
export function titled(id, title, attributes, ...children) {
  return h(
    "section",
    { "aria-labelledby": id, ...attributes },
    h("h2", { id }, title),
    ...children,
  );
}

/** A paragraph in quiet letters. @param {...(Child | Child[])} words */
export function quiet(...words) {
  return h("p", { class: "quiet" }, ...words);
}

/** Elements side by side. @param {...(Child | Child[])} children */
export function inRow(...children) {
  return h("div", { class: "row" }, ...children);
}

/** Heads of columns. @param {Child[]} names */
export function heads(names) {
  return names.map((name) => h("th", { scope: "col" }, name));
}

/** A table.
 * @param {Attributes} attributes @param {HTMLElement[]} columns their heads, if any
 * @param {HTMLElement[]} rows @param {HTMLElement | null} [caption] */
export function table(attributes, columns, rows, caption = null) {
  return h(
    "table",
    attributes,
    caption,
    columns.length ? h("thead", {}, h("tr", {}, columns)) : null,
    h("tbody", {}, rows),
  );
}

/** A choice among names: the number of one, or null if it may be any.
 * @param {string[]} names @param {(number: number | null) => void} pick
 * @param {{any?: string, [attribute: string]: any}} [attributes] `any`: what no choice is called */
export function choice(names, pick, { any = "", ...attributes } = {}) {
  const select = h(
    "select",
    attributes,
    any ? h("option", { value: "" }, any) : null,
    names.map((name, number) => h("option", { value: String(number) }, name)),
  );
  select.addEventListener("change", () => pick(select.value === "" ? null : Number(select.value)));
  return select;
}

/** @param {Element} element @param {string} name @param {any} value */
export function setAttribute(element, name, value) {
  if (value === null || value === false || value === undefined) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** @param {Element} element @param {(Child | Child[])[]} children */
function append(element, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** New children instead of the old ones. If the focus was among them, the reader goes on
 * from the heading above.
 * @param {Element} element
 * @param {...(Child | Child[])} children */
export function fill(element, ...children) {
  const focused = element !== document.activeElement && element.contains(document.activeElement);
  element.replaceChildren();
  append(element, children);
  if (focused) focusHeading(element);
}

/** The nearest heading above. @param {Element} element */
function focusHeading(element) {
  for (let place = /** @type {Element | null} */ (element); place; place = place.parentElement) {
    const heading = /** @type {HTMLElement | null} */ (
      place.querySelector(":scope > h1, :scope > h2")
    );
    if (!heading) continue;
    heading.setAttribute("tabindex", "-1");
    heading.focus({ preventScroll: true });
    return;
  }
}

/** A text of the model or of a file, whatever its direction. @param {string} text */
export function isolated(text) {
  return h("bdi", {}, text);
}

/** @param {string} text for screen readers alone */
export function hidden(text) {
  return h("span", { class: "hidden" }, text);
}

/** A list whose elements stay the same while their items do, so that focus and open details stay.
 * @template Item
 * @param {Element} parent
 * @param {Item[]} items
 * @param {(item: Item) => string | number} keyOf
 * @param {(item: Item) => HTMLElement} make
 * @param {(element: any, item: Item, place: number) => void} update */
export function keyed(parent, items, keyOf, make, update) {
  const before = new Map();
  for (const child of Array.from(parent.children)) {
    before.set(/** @type {HTMLElement} */ (child).dataset.key, child);
  }
  items.forEach((item, place) => {
    const key = String(keyOf(item));
    let element = before.get(key);
    before.delete(key);
    if (!element) {
      element = make(item);
      element.dataset.key = key;
    }
    // Moving an element takes its focus away, so those in place stay.
    if (parent.children[place] !== element) {
      parent.insertBefore(element, parent.children[place] ?? null);
    }
    update(element, item, place);
  });
  let focused = false;
  for (const element of before.values()) {
    focused ||= element.contains(document.activeElement);
    element.remove();
  }
  if (focused) focusHeading(parent);
}

const ICONS = {
  play: "M5 3.5v13l11-6.5z",
  pause: "M5 4h3.5v12H5zM11.5 4H15v12h-3.5z",
  back: "M15 4v12l-8-6zM4 4h2.2v12H4z",
  next: "M5 4v12l8-6zM13.8 4H16v12h-2.2z",
  undo: "M8 3.5 3 8l5 4.5V9.4c4 0 6.3 1.2 7.6 4.6C15.6 9.400 13 6.700 8 6.600z",
};

/** @param {keyof typeof ICONS} name @returns {SVGElement} */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of Object.entries({
    viewBox: "0 0 20 20",
    class: "icon",
    "aria-hidden": "true",
  })) {
    svg.setAttribute(key, value);
  }
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** Whether the reader lets things move. */
export function mayMove() {
  return !matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** A message for screen readers; equal messages in a row are read again.
 * @param {string} message */
export function announce(message) {
  const element = /** @type {HTMLElement} */ (document.getElementById("announcer"));
  element.replaceChildren(h("p", {}, message));
}
