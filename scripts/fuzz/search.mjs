// The search over one TypeScript target: tries inputs, keeps those that reach something new, and stops at the first that
// goes wrong. It knows nothing of files and clocks but what it is given.
import { Buffer } from "node:buffer";
import { mutated } from "./mutations.mjs";

/** How often a place was passed counts in steps, as in AFL: otherwise every further turn of a loop would be new. */
const STEPS = Uint8Array.from({ length: 256 }, (_, count) => {
  if (count === 0) return 0;
  const step = [1, 2, 3, 7, 15, 31, 127, 255].findIndex((most) => count <= most);
  return 1 << step;
});

export class Search {
  #run;
  #counters;
  #seen;
  #random;
  #words;
  #maxBytes;
  /** Inputs that reached something new, in the order in which they were found. */
  kept = [];
  executions = 0;

  /** `run` throws, or rejects, where an input goes wrong; `counters` are those that it counts in. */
  constructor({ run, counters, words, random, maxBytes }) {
    this.#run = run;
    this.#counters = counters;
    this.#seen = new Uint8Array(counters.length);
    this.#words = words.map((word) => Buffer.from(word, "latin1"));
    this.#random = random;
    this.#maxBytes = maxBytes;
  }

  /** How many places were reached. */
  get reached() {
    return this.#seen.reduce((sum, steps) => sum + (steps === 0 ? 0 : 1), 0);
  }

  /** Tries one input. Returns whether it reached something new; throws what the target throws. */
  async try(input) {
    this.#counters.fill(0);
    this.executions++;
    const running = this.#run(input);
    if (running !== undefined) await running;
    return this.#isNew();
  }

  async seed(inputs) {
    for (const input of inputs.length > 0 ? inputs : [Buffer.alloc(0)]) {
      await this.try(input);
      this.kept.push(input);
    }
  }

  /** The next input to try. What was found last is changed most often: what is behind it is not known yet. */
  next() {
    const newest = this.kept.length - 1 - this.#random(Math.min(this.kept.length, 8));
    const at = this.#random(3) === 0 ? newest : this.#random(this.kept.length);
    return mutated(this.kept[at], this.#random, { words: this.#words, others: this.kept }, this.#maxBytes);
  }

  /** One step: an input of its own making is tried, and kept if it reached something new. */
  async step(input) {
    if (await this.try(input)) this.kept.push(Buffer.from(input));
  }

  #isNew() {
    let isNew = false;
    for (let at = 0; at < this.#counters.length; at++) {
      const count = this.#counters[at];
      if (count === 0) continue;
      const step = STEPS[count];
      if ((this.#seen[at] & step) !== 0) continue;
      this.#seen[at] |= step;
      isNew = true;
    }
    return isNew;
  }
}

/** The smallest input found, in so many tries, that still goes wrong in the same way. `fails` says whether one does. */
export async function minimized(input, fails, tries) {
  let smallest = input;
  let left = tries;
  for (let size = Math.ceil(input.length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < smallest.length && left > 0; left--) {
      const shorter = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)]);
      if (await fails(shorter)) smallest = shorter;
      else at += size;
    }
  }
  return smallest;
}
