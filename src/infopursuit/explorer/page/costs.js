// @ts-check
// Questions that cost something: what the next one costs after those that were asked.
// The same as `GainForCost` in src/infopursuit/pursuit/naive_bayes/costs.py.

/** @import { Prices } from "./payload.js" */

// What was bought costs this share of the cheapest question.
const FREE = 1e-4;
const ALONE = -1;
// Of what is spent.
const ROUNDING = 1e-9;

export class Costs {
  /** @param {Prices} prices */
  constructor({ costs, groups, ahead, most }) {
    this.costs = costs;
    this.groups = groups;
    this.ahead = ahead;
    this.most = most ?? Infinity;
    const cheapest = costs.reduce((least, each) => Math.min(least, each), Infinity);
    this.relative = costs.map((each) => each / cheapest);
    /** Whether all questions cost the same, whatever was asked. */
    this.even =
      this.relative.every((each) => each === 1) &&
      groups.every((each) => each === ALONE) &&
      this.most === Infinity;
  }

  /** Groups of these questions: the others in them cost nothing more.
   * @param {Iterable<number>} asked @returns {Set<number>} */
  bought(asked) {
    return new Set([...asked].map((query) => this.groups[query]).filter((each) => each !== ALONE));
  }

  /** What these questions cost together; a group is paid for once. @param {Iterable<number>} asked */
  spent(asked) {
    const paid = new Set();
    let total = 0;
    for (const query of asked) {
      if (!paid.has(this.groups[query])) total += this.costs[query];
      if (this.groups[query] !== ALONE) paid.add(this.groups[query]);
    }
    return total;
  }

  /** What a question costs after others. @param {number} query @param {Iterable<number>} asked */
  due(query, asked) {
    return this.bought(asked).has(this.groups[query]) ? 0 : this.costs[query];
  }

  /** What gains are divided by. @param {ReadonlySet<number>} bought @returns {number[]} */
  price(bought) {
    return this.relative.map((each, query) => (bought.has(this.groups[query]) ? FREE : each));
  }

  /** The same after one more question. @param {number[]} price @param {number} query */
  after(price, query) {
    const group = this.groups[query];
    if (group === ALONE) return price;
    return price.map((each, other) => (this.groups[other] === group ? FREE : each));
  }

  /** Whether a question costs more than is left. @param {ReadonlySet<number>} bought
   * @param {number} spent @returns {(query: number) => boolean} */
  dear(bought, spent) {
    const left = this.most - spent + ROUNDING;
    return (query) => !bought.has(this.groups[query]) && this.costs[query] > left;
  }
}
