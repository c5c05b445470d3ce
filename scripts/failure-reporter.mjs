// A reporter for vitest beside its own: says why a test failed as soon as it has, for a run may not live to its end.
export default class FailureReporter {
  onTestCaseResult(test) {
    const { state, errors } = test.result();
    if (state !== "failed") return;
    const reasons = (errors ?? []).map((error) => error.stack ?? error.message);
    process.stdout.write(`\nFAILED ${test.module.moduleId} > ${test.fullName}\n${reasons.join("\n")}\n`);
  }
}
