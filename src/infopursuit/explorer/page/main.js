// @ts-check
// The page: reads the payload, shows the view that the address names, and hears keys.

import { App } from "./app.js";
import { button, fill, h, inRow, isolated } from "./dom.js";
import { PayloadError, readPayload } from "./payload.js";
import { hashOf, viewsOf } from "./state.js";
import { ANNOTATING, AnnotateView } from "./view_annotate.js";
import { ClassesView } from "./view_classes.js";
import { DictionaryView } from "./view_dictionary.js";
import { FailuresView } from "./view_failures.js";
import { ImageView } from "./view_image.js";
import { YouView } from "./view_you.js";
import { capital } from "./words.js";
/** @import { ViewName } from "./state.js" */

/**
 * @typedef {{element: HTMLElement, update: () => Promise<void>, leave?: () => void,
 *   key?: (key: string) => boolean}} View  `key`: whether it has a use for a key
 */

/** @type {Record<ViewName, {name: string, make: new (app: App) => View}>} */
const MADE = {
  image: { name: "Image", make: ImageView },
  you: { name: "You", make: YouView },
  classes: { name: "Classes", make: ClassesView },
  dictionary: { name: "Dictionary", make: DictionaryView },
  failures: { name: "Failures", make: FailuresView },
  annotate: { name: "Annotate", make: AnnotateView },
};

const SHORTCUTS = [
  ["space", "play or pause the questions"],
  ["← →", "one question back or on"],
  ["z", "undo a change"],
  ["y, p, u, q, n", "answer yes, probably, not sure, probably not, no, where you are asked"],
  ["/", "search the dictionary"],
  ["?", "this list"],
];

/** @param {string} id @returns {HTMLElement} */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

class Page {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Map<ViewName, View>} */
    this.views = new Map();
    /** @type {ViewName | null} */
    this.shown = null;
    this.keysOn = true;
    this.names = viewsOf(app.payload);
    this.links = new Map(
      this.names.map((name) => [name, h("a", { href: "#" }, this.nameOf(name))]),
    );
    app.onChange = () => this.update();
  }

  /** @param {ViewName} name */
  nameOf(name) {
    return name === "image" ? capital(this.app.noun) : MADE[name].name;
  }

  start() {
    const { payload } = this.app;
    document.title = `${payload.title} · infopursuit explorer`;
    byId("title").textContent = payload.title;
    byId("views").hidden = this.names.length < 2;
    fill(
      byId("views"),
      h(
        "ul",
        {},
        this.names.map((name) => h("li", {}, this.links.get(name))),
      ),
    );
    this.buildBottom();
    const skip = byId("skip");
    skip.addEventListener("click", (event) => {
      event.preventDefault();
      byId("main").focus();
    });
    document.addEventListener("click", (event) => this.follow(event));
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.readAddress());
    this.readAddress();
  }

  /** In a frame without an address, as in notebooks, a link would lead to the page around it.
   * @param {MouseEvent} event */
  follow(event) {
    const target =
      event.target instanceof Element ? event.target.closest("a[href^='#view=']") : null;
    if (!target || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    location.hash = target.getAttribute("href") ?? "";
  }

  readAddress() {
    // It is the page itself that wrote the address.
    if (this.shown && location.hash.slice(1) === hashOf(this.app.state)) return;
    const problems = this.app.read(location.hash);
    if (problems.length) {
      this.app.notify(
        `This link holds something that this page does not have, and goes on without it: ${problems.join(", ")}`,
      );
    }
    this.update();
  }

  update() {
    const { app } = this;
    const name = app.state.view;
    let view = this.views.get(name);
    if (!view) {
      view = new MADE[name].make(app);
      this.views.set(name, view);
    }
    for (const [each, link] of this.links) {
      link.href = app.link({ view: each });
      if (each === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (this.shown !== name) {
      if (this.shown) this.views.get(this.shown)?.leave?.();
      fill(byId("main"), view.element);
      if (this.shown) {
        scrollTo({ top: 0 });
        byId("main").focus({ preventScroll: true });
      }
      this.shown = name;
    }
    view.update().catch((error) => app.complain(error, () => this.update()));
  }

  buildBottom() {
    const { app } = this;
    const link = button(() => this.copyLink(), "Copy link to this state");
    const list = h(
      "dl",
      { class: "shortcuts" },
      this.shortcuts().map(([keys, does]) =>
        h("div", {}, h("dt", {}, h("kbd", {}, keys)), h("dd", {}, does)),
      ),
    );
    const on = h("input", { type: "checkbox", checked: true });
    on.addEventListener("change", () => {
      this.keysOn = on.checked;
    });
    const close = button(() => this.help?.close(), "Close");
    this.help = h(
      "dialog",
      { "aria-labelledby": "shortcuts-title" },
      h("h2", { id: "shortcuts-title" }, "Keys"),
      list,
      h("label", {}, on, " keys do this"),
      close,
    );
    const keys = button(() => this.help?.showModal(), "Keys");
    this.address = h("input", {
      type: "text",
      readonly: true,
      "aria-label": "Link to this state",
      hidden: true,
    });
    fill(
      byId("bottom"),
      app.model.note ? h("p", {}, h("strong", {}, isolated(app.model.note))) : null,
      inRow(link, keys, this.address),
      h(
        "p",
        {},
        h("bdi", {}, app.model.name),
        app.payload.annotate
          ? ""
          : app.payload.served
            ? ". Pictures go to the server that runs this page, and are not kept."
            : ". ",
        app.payload.served ? "" : "All is computed in this page; nothing leaves it.",
      ),
      this.help,
    );
  }

  shortcuts() {
    const { key, annotate } = this.app.payload;
    if (annotate) return ANNOTATING;
    if (key) return SHORTCUTS.filter(([keys]) => !["space", "← →", "/"].includes(keys));
    return [[`1 to ${this.names.length}`, "go to a view"], ...SHORTCUTS];
  }

  async copyLink() {
    const address = /** @type {HTMLInputElement} */ (this.address);
    try {
      await navigator.clipboard.writeText(location.href);
      this.app.announce("Link copied");
      address.hidden = true;
    } catch {
      // Pages from a file may not write to the clipboard; the reader copies by hand.
      this.app.announce("Press Control and C to copy the link");
    }
    address.hidden = false;
    address.value = location.href;
    address.focus();
    address.select();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.keysOn || this.help?.open) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const typing = target.matches("input:not([type=radio]):not([type=checkbox]), select, textarea");
    // A radio button has its own use for arrows, a button for space.
    const own = target.matches("input, button, summary, a, [role=option]");
    if (typing || (own && [" ", "ArrowLeft", "ArrowRight", "Enter"].includes(event.key))) return;
    if (this.press(event.key)) event.preventDefault();
  }

  /** @param {string} key @returns {boolean} whether it has a use */
  press(key) {
    const { app } = this;
    const number = Number(key) - 1;
    if (key !== " " && this.names[number]) app.change({ view: this.names[number] });
    else if (key === "?") this.help?.showModal();
    else if (key === "z") app.undo();
    else if (key === "/" && this.names.includes("dictionary")) {
      app.change({ view: "dictionary" });
      document.getElementById("search")?.focus();
    } else return this.views.get(app.state.view)?.key?.(key) ?? false;
    return true;
  }
}

/** @param {string} message */
function refuse(message) {
  fill(
    byId("main"),
    h(
      "div",
      { class: "refused", role: "alert" },
      h("h1", {}, "This page cannot be shown"),
      h("p", {}, message),
      h("p", {}, "Export it again with infopursuit export, or open the original file."),
    ),
  );
}

function start() {
  try {
    const page = new Page(new App(readPayload(byId("payload").textContent ?? "")));
    page.start();
    // For those who look under the hood, and for tests.
    Object.assign(window, { explorer: page.app });
  } catch (error) {
    if (!(error instanceof PayloadError)) throw error;
    refuse(error.message);
  }
}

start();
