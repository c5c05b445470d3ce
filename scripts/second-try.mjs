// Which test files run again, alone, after they failed beside others, and what counts then. Pure.
//
// What passes only alone is named at the end of the run, so that it gets repaired; it does not hide a fault that is
// always there. A wall that stands only at times is a hole: a test of security has to pass three times in a row then.

import { failedTests, plainText } from "./test-totals.mjs";

const MOST_FILES = 6;
const WALL_TRIES = 3;
const wall = /[/\\]test[/\\]security[/\\]/;

/**
 * The files to run in each of the tries that all have to pass; no tries where another would say nothing.
 * @param output everything that vitest printed
 */
export function triesAfter(report, output) {
  const strays = filesOfStrayErrors(plainText(output));
  const failed = (report?.testResults ?? []).filter(({ status }) => status === "failed").map(({ name }) => name);
  const files = [...new Set([...failed, ...(strays ?? [])])];
  if (strays === null || files.length === 0 || files.length > MOST_FILES) return [];
  const walls = files.filter((name) => wall.test(`/${name}`));
  return [files, ...Array(walls.length > 0 ? WALL_TRIES - 1 : 0).fill(walls)];
}

/** The files that ran when something was thrown outside of any test; null where one is not known. */
function filesOfStrayErrors(output) {
  const errors = Number(/^Vitest caught (\d+) unhandled error/m.exec(output)?.[1] ?? 0);
  const files = [...output.matchAll(/This error originated in "([^"]+)" test file/g)].map(([, file]) => file);
  return files.length >= errors ? files : null;
}

/** The report after the tries: what was run again counts as it went in the worst of them. */
export function withTries(first, tries) {
  const again = new Map();
  for (const file of tries.flatMap((report) => report?.testResults ?? [])) {
    if (again.get(file.name)?.status !== "failed") again.set(file.name, file);
  }
  return { testResults: first.testResults.map((file) => again.get(file.name) ?? file) };
}

/** Each test that failed at first and in none of the tries, with what was wrong. @param output as for {@link triesAfter} */
export function unsteadyOf(first, tries, output) {
  const still = new Set(tries.flatMap((report) => failedTests(report).map(({ key }) => key)));
  const ran = new Set(tries.flatMap((report) => report?.testResults ?? []).map(({ name }) => name));
  const tests = failedTests(first)
    .filter(({ file, key }) => ran.has(file) && !still.has(key))
    .flatMap(({ key, reason }) => [`UNSTEADY ${key}: it passed when its file ran again, alone`, `     ${reason}`]);
  const strays = new Set(filesOfStrayErrors(plainText(output)) ?? []);
  return [...tests, ...[...strays].map((file) => `UNSTEADY ${file}: something was thrown in it, outside of any test`)];
}
