// Runs the search over one TypeScript target, in a thread that can be ended where an input hangs. What it tries next is in
// shared memory before it is tried.
import { Buffer } from "node:buffer";
import { pathToFileURL } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import { COUNTERS } from "./counters.mjs";
import { randomOf } from "./mutations.mjs";
import { minimized, Search } from "./search.mjs";

const { bundle, counters, words, seeds, maxBytes, minutes, seed, shared } = workerData;
const REPORT_EVERY = 2048;
const MINIMIZING_TRIES = 4000;
/** Executions so far, and the length of the input at hand, which follows. */
const numbers = new Int32Array(shared, 0, 2);
const current = new Uint8Array(shared, 8);

globalThis[COUNTERS] = new Uint8Array(counters);
const target = await import(pathToFileURL(bundle).href);
const search = new Search({
  run: (input) => {
    numbers[1] = input.length;
    current.set(input);
    numbers[0]++;
    return target.run(input);
  },
  counters: globalThis[COUNTERS],
  words,
  random: randomOf(seed),
  maxBytes,
});

const report = () => ({ executions: search.executions, reached: search.reached, places: counters });

async function failureOf(input) {
  try {
    await search.try(input);
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function fail(input, error) {
  const isSame = async (shorter) => (await failureOf(shorter))?.constructor === error.constructor;
  const smallest = await minimized(input, isSame, MINIMIZING_TRIES);
  parentPort.postMessage({ kind: "failed", input: smallest, reason: error.stack ?? error.message, ...report() });
}

async function run() {
  const untilMs = Date.now() + minutes * 60_000;
  for (const bytes of seeds) {
    const input = Buffer.from(bytes);
    try {
      await search.seed([input]);
    } catch (error) {
      return await fail(input, error);
    }
  }
  if (seeds.length === 0) await search.seed([]);
  while (Date.now() < untilMs) {
    for (let more = REPORT_EVERY; more > 0 && Date.now() < untilMs; more--) {
      const input = search.next();
      try {
        await search.step(input);
      } catch (error) {
        return await fail(input, error);
      }
    }
    // A turn of the loop for what targets have waiting.
    await new Promise((resolve) => setImmediate(resolve));
  }
  parentPort.postMessage({ kind: "done", kept: search.kept.slice(seeds.length), ...report() });
}

await run();
