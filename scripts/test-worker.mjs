// In a world of its own (test-world.sh): runs the test files that it is told, one after another, in one vitest that is
// started once. A job is a line of JSON on stdin, {project, file, pattern}; its result is a line on descriptor 3,
// {report, unhandled}. It ends when stdin does.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { createVitest } from "vitest/node";
import FailureReporter from "./failure-reporter.mjs";

const RESULTS = 3;

const projects = process.argv.slice(2);
const vitest = await createVitest("test", {
  watch: false,
  project: projects,
  reporters: [new FailureReporter()],
  // Files come one at a time.
  fileParallelism: false,
});

async function run({ project: name, file, pattern }) {
  const project = vitest.projects.find((one) => one.name === name);
  if (project === undefined) throw new Error(`there is no project ${name}`);
  if (pattern === null) vitest.resetGlobalTestNamePattern();
  else vitest.setGlobalTestNamePattern(pattern);
  const startTime = Date.now();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([project.createSpecification(file)]);
  const testResults = testModules
    .filter((one) => one.project.name === name && one.moduleId === file)
    .map((one) => ({ ...resultOf(one), startTime, endTime: Date.now() }));
  return { report: { testResults }, unhandled: unhandledErrors.map(textOf) };
}

/** As vitest's reporter for JSON has it. */
function resultOf(module) {
  return {
    name: module.moduleId,
    status: module.ok() ? "passed" : "failed",
    message: module.errors().map(textOf).join("\n"),
    assertionResults: [...module.children.allTests()].map((test) => {
      const { state, errors } = test.result();
      return {
        status: state,
        fullName: test.fullName.replaceAll(" > ", " "),
        duration: test.diagnostic()?.duration ?? 0,
        failureMessages: (errors ?? []).map(textOf),
      };
    }),
  };
}

function textOf(error) {
  return error?.stack ?? error?.message ?? String(error);
}

function answer(result) {
  const line = Buffer.from(`${JSON.stringify(result)}\n`);
  for (let at = 0; at < line.length; ) at += writeSync(RESULTS, line, at);
}

for await (const line of createInterface({ input: process.stdin })) answer(await run(JSON.parse(line)));
await vitest.close();
process.exit();
