// @ts-check
// The networks of the paper's method, computed here: HistoryNetwork in src/infopursuit/pursuit/vip.

import { renormalized, softmax } from "./pursuit.js";
/** @import { Model, Layers, Affine } from "./payload.js" */
/** @import { Predictor, Prediction, Answered } from "./pursuit.js" */

/** Layer norm, then ReLU.
 * @param {Float64Array} row changed
 * @param {Affine} layer
 * @param {number} epsilon */
function normalized(row, layer, epsilon) {
  let mean = 0;
  for (const each of row) mean += each / row.length;
  let variance = 0;
  for (const each of row) variance += (each - mean) ** 2 / row.length;
  const scale = 1 / Math.sqrt(variance + epsilon);
  for (let i = 0; i < row.length; i++) {
    row[i] = Math.max(0, (row[i] - mean) * scale * layer.scale[i] + layer.shift[i]);
  }
  return row;
}

/** One channel of a history up to the head.
 * @param {Layers} layers
 * @param {number} k
 * @param {{query: number, value: number}[]} inputs those that are not zero */
function channel(layers, k, inputs) {
  const [h1, h2] = layers.widths;
  const { first, second, epsilon } = layers;
  const row = Float64Array.from(first.bias);
  for (const { query, value } of inputs) {
    for (let i = 0; i < h1; i++) row[i] += value * first.weight[i * k + query];
  }
  normalized(row, first, epsilon);
  const next = Float64Array.from(second.bias);
  for (let j = 0; j < h2; j++) {
    let total = 0;
    for (let i = 0; i < h1; i++) total += row[i] * second.weight[j * h1 + i];
    next[j] += total;
  }
  return normalized(next, second, epsilon);
}

/** The outputs of a network on a history.
 * @param {Layers} layers
 * @param {number} k
 * @param {Answered[]} history */
function outputsOf(layers, k, history) {
  const { head } = layers;
  const h2 = layers.widths[1];
  const answers = channel(
    layers,
    k,
    history.map(({ query, answer }) => ({ query, value: answer })),
  );
  const mask = channel(
    layers,
    k,
    history.map(({ query }) => ({ query, value: 1 })),
  );
  const outputs = Float64Array.from(head.bias);
  for (let i = 0; i < layers.outputs; i++) {
    const start = i * 2 * h2;
    for (let j = 0; j < h2; j++) {
      outputs[i] += answers[j] * head.weight[start + j] + mask[j] * head.weight[start + h2 + j];
    }
  }
  return outputs;
}

/** Querier and classifier as networks. @implements {Predictor} */
export class Networks {
  /** @param {Model} model @param {number[] | null} [classes] as if there were no others */
  constructor(model, classes = null) {
    if (!model.networks) throw new Error(`${model.name} has no networks`);
    this.name = /** @type {const} */ ("querier probability");
    this.remote = false;
    this.rounding = 0;
    this.k = model.k;
    this.model = model;
    this.classes = classes;
    this.networks = model.networks;
  }

  /** @param {Answered[]} history @param {ReadonlySet<number>} [banned] @returns {Prediction} */
  predict(history, banned = new Set()) {
    const { querier, classifier } = this.networks;
    const order = outputsOf(querier, this.k, history);
    for (const { query } of history) order[query] = -Infinity;
    for (const query of banned) order[query] = -Infinity;
    const open = order.some((value) => value > -Infinity);
    const values = open ? softmax(order) : order.slice();
    for (let query = 0; query < this.k; query++) {
      if (order[query] === -Infinity) values[query] = -Infinity;
    }
    const posterior = softmax(outputsOf(classifier, this.k, history));
    return { posterior: renormalized(posterior, this.classes), values, order };
  }

  /** @param {number[]} classes */
  forClasses(classes) {
    return new Networks(this.model, classes);
  }
}
