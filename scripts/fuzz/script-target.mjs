// Targets of TypeScript: `test/fuzz/targets/NAME.ts`, bundled, given counters, and searched in a thread.
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { build } from "esbuild";
import { withCounters } from "./counters.mjs";

const HANG_MS = 20_000;
const LOOK_MS = 250;

export function contents(folder) {
  try {
    return readdirSync(folder)
      .sort()
      .map((name) => readFileSync(join(folder, name)));
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}

export const nameOf = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);

export function put(folder, name, bytes) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), bytes);
}

/** Returns the path of the bundle, how many counters it has, and its words. */
export async function bundled(entry, outFolder, name) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    charset: "ascii",
    mainFields: ["module", "main"],
    logLevel: "warning",
    // Packages that are CommonJS ask for Node's own modules so.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
  const { text, counters, words } = withCounters(outputFiles[0].text);
  put(outFolder, `${name}.mjs`, text);
  return { bundle: join(outFolder, `${name}.mjs`), counters, words };
}

/** Ends when the time is over or an input went wrong; that input then comes with the reason. */
export async function searched({ bundle, counters, words, seeds, maxBytes, minutes, seed, hangMs = HANG_MS }) {
  const shared = new SharedArrayBuffer(8 + maxBytes + 65_536);
  const numbers = new Int32Array(shared, 0, 2);
  const current = () => Buffer.from(new Uint8Array(shared, 8, numbers[1]).slice());
  const worker = new Worker(new URL("script-worker.mjs", import.meta.url), {
    workerData: { bundle, counters, words, seeds, maxBytes, minutes, seed, shared },
  });
  let before = -1;
  let sinceMs = Date.now();
  let looking;
  try {
    return await new Promise((resolve, reject) => {
      looking = setInterval(() => {
        if (numbers[0] !== before) {
          before = numbers[0];
          sinceMs = Date.now();
        } else if (before > 0 && Date.now() - sinceMs > hangMs) {
          const reason = `it takes longer than ${hangMs / 1000} s`;
          resolve({ kind: "failed", input: current(), reason, executions: before, reached: 0, places: counters });
        }
      }, LOOK_MS);
      worker.once("message", resolve);
      worker.once("error", (error) => {
        const reason = error.stack ?? error.message;
        if (numbers[0] === 0) reject(error);
        else
          resolve({ kind: "failed", input: current(), reason, executions: numbers[0], reached: 0, places: counters });
      });
      worker.once("exit", () => reject(new Error("the search ended without a word")));
    });
  } finally {
    clearInterval(looking);
    await worker.terminate();
  }
}
