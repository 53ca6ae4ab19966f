// @ts-check
// Where in the picture an answer yes comes from: orange on a grey picture.

import { fill, h } from "./dom.js";
/** @import { App, Image } from "./app.js" */

const HUE = [201, 79, 0];
const COVER = 0.8;
const ROWS = ["at the top", "in the middle", "at the bottom"];
const COLUMNS = [" left", "", " right"];
const HINT = "Point at a question answered yes: the picture shows its place.";

/** A line that says what the picture shows. */
export function placeLine() {
  return h("p", { class: "quiet place-line" }, HINT);
}

/** Mark the place of a question on the picture of a figure, or nothing.
 * @param {App} app @param {HTMLElement} figure @param {Image | null} image @param {number | null} query
 */
export function showPlace(app, figure, image, query) {
  const frame = figure.querySelector(".seen");
  const picture = frame?.querySelector("img");
  const line = figure.querySelector(".place-line");
  if (!frame || !picture || !line) return;
  frame.querySelector("canvas")?.remove();
  const places = image?.places;
  const map = query === null ? undefined : places?.maps.get(query);
  frame.classList.toggle("marked", map !== undefined);
  fill(line, HINT);
  if (!map || !places || query === null) return;
  frame.append(drawn(map, places, picture));
  const strongest = map.indexOf(Math.max(...map));
  const [rows, columns] = places.size;
  const row = ROWS[Math.floor((3 * Math.floor(strongest / columns)) / rows)];
  const column = COLUMNS[Math.floor((3 * (strongest % columns)) / columns)];
  fill(line, `Orange speaks for yes, most ${row}${column}: ${app.model.questions[query]}`);
}

/** @param {Uint8Array} map @param {import("./payload.js").Places} places
 * @param {HTMLImageElement} picture shown as the square in its middle */
function drawn(map, places, picture) {
  const [rows, columns] = places.size;
  const canvas = h("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const pixels = new ImageData(columns, rows);
  map.forEach((value, i) => pixels.data.set([...HUE, Math.round(COVER * value)], 4 * i));
  /** @type {HTMLCanvasElement} */ (canvas).getContext("2d")?.putImageData(pixels, 0, 0);
  const { naturalWidth: wide, naturalHeight: high } = picture;
  const side = Math.min(wide, high);
  const [left, top, right, bottom] = places.seen;
  const across = (/** @type {number} */ x) => (100 * (x * wide - (wide - side) / 2)) / side;
  const down = (/** @type {number} */ y) => (100 * (y * high - (high - side) / 2)) / side;
  canvas.style.left = `${across(left)}%`;
  canvas.style.top = `${down(top)}%`;
  canvas.style.width = `${across(right) - across(left)}%`;
  canvas.style.height = `${down(bottom) - down(top)}%`;
  return canvas;
}
