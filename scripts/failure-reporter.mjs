// A reporter for vitest beside its own: says why a test failed as soon as it has, for a run may not live to its end.
export default class FailureReporter {
  onTestCaseResult(test) {
    const { state, errors } = test.result();
    if (state !== "failed") return;
    const reasons = (errors ?? []).map(({ message, diff, stack }) => [message, diff, ...ownLines(stack)].join("\n"));
    process.stdout.write(`\nFAILED ${test.module.moduleId} > ${test.fullName}\n${reasons.join("\n")}\n`);
  }
}

/** Where in our own code it was. */
function ownLines(stack) {
  return (stack ?? "").split("\n").filter((line) => /^\s+at /.test(line) && !line.includes("node_modules"));
}
