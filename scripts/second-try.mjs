// Which test files may run once more, alone, after they failed beside others, and what counts then. Pure.
//
// What passes only alone is named at the end of the run, so that it gets repaired; it does not hide a fault that is
// always there. A wall that stands only at times is a hole: tests of security have one try.

import { failedTests } from "./test-totals.mjs";

const MOST_FILES = 3;
const oneTry = /[/\\]test[/\\]security[/\\]/;

/** @param output everything that vitest printed: an error outside of any test is nothing that a second try can mend */
export function filesToTryAgain(report, output) {
  const files = (report?.testResults ?? []).filter(({ status }) => status === "failed").map(({ name }) => name);
  const mayTry = files.length <= MOST_FILES && !files.some((name) => oneTry.test(name));
  return mayTry && !/Unhandled (Error|Rejection)/.test(output) ? files : [];
}

/** The report after the second try: what was run again counts as it went then. */
export function withSecondTry(first, second) {
  const again = new Map((second?.testResults ?? []).map((file) => [file.name, file]));
  return { testResults: first.testResults.map((file) => again.get(file.name) ?? file) };
}

/** Each test that passed only then, with what was wrong at first. */
export function unsteadyOf(first, second) {
  const failed = (report) => new Set(failedTests(report).map(({ key }) => key));
  const still = failed(second);
  const ran = new Set((second?.testResults ?? []).map(({ name }) => name));
  return failedTests(first)
    .filter(({ file, key }) => ran.has(file) && !still.has(key))
    .flatMap(({ key, reason }) => [`UNSTEADY ${key}: it passed when its file ran again, alone`, `     ${reason}`]);
}
