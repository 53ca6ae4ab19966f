// @ts-check
// The reader's own pictures, in the served form: dropped, pasted, chosen or photographed.

import { h } from "./dom.js";
import { sendPicture } from "./remote.js";
/** @import { App, Image } from "./app.js" */

export class Upload {
  /** @param {App} app @param {(image: Image) => void} took */
  constructor(app, took) {
    this.app = app;
    this.took = took;
    this.count = 0;
    const input = (/** @type {Record<string, any>} */ more) => {
      const element = h("input", { type: "file", accept: "image/*", class: "hidden", ...more });
      element.addEventListener("change", () => {
        if (element.files?.[0]) void this.send(element.files[0]);
        element.value = "";
      });
      return element;
    };
    this.status = h("span", { class: "quiet", role: "status" });
    this.element = h(
      "div",
      { class: "upload" },
      h("p", {}, "Your own: drop or paste a picture here, "),
      h("label", { class: "button" }, input({}), h("span", {}, "choose a file")),
      h(
        "label",
        { class: "button" },
        input({ capture: "environment" }),
        h("span", {}, "take a photo"),
      ),
      this.status,
    );
    for (const name of ["dragover", "dragleave", "drop"]) {
      this.element.addEventListener(name, (event) => {
        event.preventDefault();
        this.element.classList.toggle("over", name === "dragover");
      });
    }
    this.element.addEventListener("drop", (event) => this.takeFrom(event.dataTransfer));
    document.addEventListener("paste", (event) => {
      if (this.element.isConnected) this.takeFrom(event.clipboardData);
    });
  }

  /** @param {DataTransfer | null} data */
  takeFrom(data) {
    const file = Array.from(data?.files ?? []).find((each) => each.type.startsWith("image/"));
    if (file) void this.send(file);
    else if (data?.files.length) this.app.notify("That is not a picture; expected an image file.");
  }

  /** @param {File} file */
  async send(file) {
    const { app } = this;
    this.status.textContent = "The model looks at it …";
    try {
      const picture = await sendPicture(file);
      // Two pictures may have one name.
      const name = file.name || "picture";
      const image = app.imageOf({ ...picture, id: `${name} (yours ${++this.count})` }, "yours");
      app.yours.unshift(image);
      this.took(image);
    } catch (error) {
      app.complain(error);
    } finally {
      this.status.textContent = "";
    }
  }
}
