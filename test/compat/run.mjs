/** Runs parts of a suite in places, and compares. */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { counts, differences, unexplained } from "./compare.mjs";

const PART_MS = 300_000;

/**
 * One suite in `places`, of which the first is `outside`. What differs runs once more, outside and inside; only what
 * differs both times counts.
 */
export async function runSuite(suite, places, { parts, expected, environment = process.env, say }) {
  const prepared = mkdtempSync(join(tmpdir(), "agentkernel-compat-"));
  try {
    suite.prepare(prepared, parts);
    const run = (place, some) => runParts(suite, place, { prepared, parts: some, environment });
    const [first, ...inside] = places;
    const outside = await run(first, parts);
    const rows = [{ place: first, counts: counts(outside.all), news: [], stale: [], explained: 0 }];
    for (const place of inside) {
      say(`${suite.name}: ${place.name}`);
      const ran = await run(place, parts);
      const found = await confirmed(differences(outside.all, ran.all), ran, (some) =>
        Promise.all([run(first, some), run(place, some)]),
      );
      const own = expected.filter((entry) => entry.suite === suite.name && entry.place === place.name);
      const isWhole = parts.length === suite.parts.length;
      const { news, stale } = place.isRival ? { news: [], stale: [] } : unexplained(found, own, { isWhole });
      rows.push({ place, counts: counts(ran.all), news, stale, explained: found.length - news.length });
    }
    return rows;
  } finally {
    rmSync(prepared, { recursive: true, force: true });
  }
}

async function confirmed(found, ran, again) {
  const parts = [...new Set(found.map(({ test }) => ran.partOf(test)))].filter((part) => part !== null);
  if (found.length === 0) return [];
  const [outside, inside] = await again(parts);
  const twice = new Set(differences(outside.all, inside.all).map(({ test }) => test));
  return found.filter(({ test }) => twice.has(test) || ran.partOf(test) === null);
}

async function runParts(suite, place, { prepared, parts, environment }) {
  const all = new Map();
  const partOfTest = new Map();
  for (const part of parts) {
    // Fresh for each: what a suite leaves is not in the way of the next.
    const project = mkdtempSync(join(tmpdir(), "agentkernel-compat-"));
    try {
      cpSync(prepared, project, { recursive: true });
      const output = await outputOf([...place.around(project), ...suite.command(part)], project, environment);
      for (const [test, what] of suite.read(output)) {
        all.set(`${part}: ${test}`, what);
        partOfTest.set(`${part}: ${test}`, part);
      }
    } finally {
      rmSync(project, { recursive: true, force: true });
    }
  }
  // A test that is missing inside is of the part that its id begins with.
  const partOf = (test) => partOfTest.get(test) ?? parts.find((part) => test.startsWith(`${part}: `)) ?? null;
  return { all, partOf };
}

/** What it printed until its end, or until it took too long. */
function outputOf([program, ...words], cwd, environment) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd, env: environment, stdio: ["ignore", "pipe", "ignore"], detached: true });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (piece) => {
      text += piece;
    });
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), PART_MS);
    child.once("error", reject);
    child.once("close", () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}
