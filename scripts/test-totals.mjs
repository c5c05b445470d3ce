// Reads what cargo and vitest report about a run and turns it into totals. Pure: text and objects in, numbers out.

export const noTotals = Object.freeze({ passed: 0, failed: 0, skipped: 0 });

/** A run that ended badly although no test of it failed has a failure all the same: it crashed, or did not compile. */
function withCrash(totals, ok) {
  return ok || totals.failed > 0 ? totals : { ...totals, failed: 1 };
}

/** @param {string} output everything that `cargo test` printed */
export function cargoTotals(output, ok) {
  const totals = { ...noTotals };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes are control characters
  const plain = output.replace(/\u001b\[[0-9;]*m/g, "");
  for (const match of plain.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm)) {
    totals.passed += Number(match[1]);
    totals.failed += Number(match[2]);
    totals.skipped += Number(match[3]);
  }
  return withCrash(totals, ok);
}

/** @param report vitest's JSON report, or undefined where it left none */
export function vitestTotals(report, ok) {
  if (report === undefined) return { ...noTotals, failed: 1 };
  const totals = { ...noTotals };
  for (const file of report.testResults) {
    let failedHere = 0;
    for (const { status } of file.assertionResults) {
      if (status === "passed") totals.passed += 1;
      else if (status === "failed") failedHere += 1;
      else totals.skipped += 1;
    }
    // A file that cannot be loaded, or whose hook throws, fails without a failed test in it.
    totals.failed += failedHere === 0 && file.status === "failed" ? 1 : failedHere;
  }
  return withCrash(totals, ok);
}

/** Each failed test in two lines: which, and what was wrong. @param report as for {@link vitestTotals} */
export function failuresOf(report) {
  return failedTests(report).flatMap(({ key, reason }) => [`FAIL ${key}`, `     ${reason}`]);
}

/** Without a title it is the whole file. @param report as for {@link vitestTotals} */
export function failedTests(report) {
  return (report?.testResults ?? []).flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === "failed");
    const found = (title, text) => {
      const reason = (text ?? "").split("\n", 1)[0];
      return { file: name, title, key: `${name} > ${title ?? "the file"}`, reason };
    };
    if (failed.length === 0 && status === "failed") return [found(null, message)];
    return failed.map(({ fullName, failureMessages }) => found(fullName, failureMessages[0]));
  });
}
