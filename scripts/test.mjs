// `npm test`: sets the checkout up, then runs every check and test suite, and ends with one line of totals.
//
//   npm test                      everything
//   npm test -- unit              one vitest project: unit, contract, security, faults, e2e
//   npm test -- swift             the SDK for Swift: toolchain, build, its own tests, the scenarios of all SDKs
//   npm test -- security-docker   the security suite on another backend; also -podman, -gvisor and -microvm
//   npm test -- unit src/policy   the same, only files whose path has that text; `-t TEXT`: only tests whose name has it
//   npm test -- static | rust     the checks that run no test | cargo's tests
//   npm test -- bench             the watch over promises in figures
//   npm test -- times             where the time of the last whole run went; runs nothing
//
// Files of all projects but unit run in worlds side by side: AGENTKERNEL_TEST_WORLDS says how many (twice the cores,
// where there are 3 GiB of memory for each); 1, or a machine that has none, means three lanes of projects.
//
// It needs nothing but Node until the set-up has run. A step that dies counts as a failure, and so does a run in which
// no test ran: silence is never success.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { filesToTryAgain, unsteadyOf, withSecondTry } from "./second-try.mjs";
import { commandFor, weightsOf, worldsFor } from "./test-plan.mjs";
import { filesOf, processorClock, timesTable } from "./test-times.mjs";
import { cargoTotals, failedTests, failuresOf, noTotals, vitestTotals } from "./test-totals.mjs";
import { Worlds } from "./test-worlds.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const native = join(root, "native");
/** Of everything, so that a hang fails the run while there is time to say where it was. */
const stepTimeoutMinutes = 55;
const colours = process.stdout.isTTY ? { FORCE_COLOR: "1", CARGO_TERM_COLOR: "always" } : { NO_COLOR: "1" };
const elsewhere = ["security-docker", "security-podman", "security-gvisor", "security-microvm"];
const projects = ["unit", "contract", "security", ...elsewhere, "faults", "e2e", "swift"];
/** Files of unit tests run side by side in one vitest; the SDK for Swift has a step before it. */
const outsideWorlds = ["unit", "swift"];
/** Where there are no worlds, what may run side by side when everything does; about as long as each other. */
const lanes = [
  ["e2e", "security-docker", "security-podman"],
  ["faults", "security-microvm"],
  ["unit", "contract", "security", "security-gvisor"],
];
/** Said again at the end, where they are found. */
const failures = [];
const unsteady = [];
/** Where the time went, a step each. */
const steps = [];
const timesPath = join(root, ".build", "test-times.json");
/** How many seconds files took, for a checkout that has timed none. */
const weightsPath = join(root, "scripts", "test-weights.json");
const processorMs = processorClock();
let roots;
/** The status of `scripts/test-lane.sh` on a machine that has no lanes. */
const NO_LANES = 125;
/** The status of `scripts/build-sdk.sh swift` where no toolchain can be had. */
const NO_SWIFT = 3;

const staticChecks = [
  ["biome", root, bin("biome"), ["check", "."]],
  ["tsc", root, bin("tsc"), ["--noEmit"]],
  ["cargo fmt", native, "cargo", ["fmt", "--all", "--check"]],
  ["cargo clippy", native, "cargo", cargo("clippy", "--exclude", "ak-wasm", "--all-targets", "--", "-D", "warnings")],
  ["clippy of ak-wasm", root, "sh", [join("scripts", "setup.sh"), "lint-worker"]],
  ["SDK sources", root, process.execPath, [join("scripts", "write-sdk-sources.mjs"), "--check"]],
  ...["claude-agent", "typescript", "python", "golang", "rust"].map((name) => [
    `SDK for ${name}`,
    root,
    "sh",
    [join("scripts", "build-sdk.sh"), name, "check"],
  ]),
];

/** Not among the static checks: its compiler runs in a sandbox, beside the other lanes. */
const swiftCheck = ["sh", join("scripts", "build-sdk.sh"), "swift", "check"];

const benchGuard = ["promises in figures", root, process.execPath, [join("bench", "guard.mjs")]];

function bin(name) {
  return join(root, "node_modules", ".bin", name);
}

/** With the target named, the flags for static linking spare procedural macros, which must be shared libraries. */
function cargo(verb, ...args) {
  const triple = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-unknown-linux-gnu`;
  return [verb, "--workspace", "--target", triple, "--target-dir", "../.build/target", ...args];
}

/** What stands at the bottom of a terminal. */
let lastProgress = "";

function say(text) {
  clearProgress();
  process.stdout.write(`${text}\n`);
}

function showProgress(line) {
  if (!process.stdout.isTTY) return;
  clearProgress();
  lastProgress = line.slice(0, process.stdout.columns - 1);
  process.stdout.write(lastProgress);
}

function clearProgress() {
  if (lastProgress !== "") process.stdout.write("\r\u001b[K");
  lastProgress = "";
}

/** Process groups of steps that run. */
const running = new Set();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    for (const group of running) process.kill(-group, signal);
    process.exit(1);
  });
}

/** Runs a command to its end. `show` passes its output on while it runs; it is kept for reading in any case. */
function execute(name, cwd, command, args, show) {
  const startedMs = Date.now();
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      // A group of its own, so that a step that takes too long ends with all that it started.
      detached: true,
      env: { ...process.env, ...colours },
    });
    running.add(child.pid);
    const impatience = setTimeout(() => {
      say(`FAIL ${command} ${args.join(" ")}: not done after ${stepTimeoutMinutes} minutes`);
      process.kill(-child.pid, "SIGKILL");
    }, stepTimeoutMinutes * 60_000);
    const step = { name, elapsedMs: 0, processorMs: null };
    child.on("exit", () => {
      step.processorMs = processorMs();
    });
    const over = () => {
      clearTimeout(impatience);
      running.delete(child.pid);
      step.elapsedMs = Date.now() - startedMs;
      steps.push(step);
    };
    let output = "";
    const take = (target) => (chunk) => {
      output += chunk;
      if (show) target.write(chunk);
    };
    child.stdout.setEncoding("utf8").on("data", take(process.stdout));
    child.stderr.setEncoding("utf8").on("data", take(process.stderr));
    child.on("error", (error) => {
      over();
      resolve({ ok: false, status: null, step, output: `${output}${error.message}\n` });
    });
    child.on("close", (code, signal) => {
      over();
      if (signal !== null) output += `${command} was ended by ${signal}\n`;
      resolve({ ok: code === 0, status: code, step, output });
    });
  });
}

async function runStaticCheck([name, cwd, command, args]) {
  const { ok, step, output } = await execute(name, cwd, command, args, false);
  say(`${ok ? "ok  " : "FAIL"} ${name} (${(step.elapsedMs / 1000).toFixed(1)} s)`);
  if (!ok) say(output.trimEnd());
  return { ...noTotals, [ok ? "passed" : "failed"]: 1 };
}

async function runCargoTests() {
  // The worker for WebAssembly has no tests of its own: those that call modules are its tests, and building its
  // engine once more takes minutes.
  say("\n== cargo test");
  const { ok, output } = await execute(
    "cargo test",
    native,
    "cargo",
    cargo("test", "--exclude", "ak-wasm", "--no-fail-fast"),
    true,
  );
  return cargoTotals(output, ok);
}

/** Everything in worlds, or else in lanes side by side, where the machine has them; one after another elsewhere. */
async function runAllVitest() {
  const count = worldCount();
  const worlds = count > 1 ? await offeredWorlds() : null;
  if (worlds !== null) {
    const inLane = (name) => ["sh", "scripts/test-lane.sh", name];
    const swift = runSwift([], inLane("swift"));
    // Before the others, for it is busy all the time, and they wait for events.
    const unit = await runVitestOnce(["unit"], [], inLane("unit"));
    const inside = projects.filter((name) => !outsideWorlds.includes(name));
    const others = await runInWorlds(worlds, count, inside, []);
    return [await swift, others, await judged(unit, ["unit"], inLane("unit"))].reduce(sum);
  }
  const offered = await execute("lanes", root, "sh", [join("scripts", "test-lane.sh"), "probe", "true"], false);
  if (!offered.ok && offered.status !== NO_LANES) return { ...noTotals, failed: 1 };
  if (!offered.ok) {
    say(`\n== vitest, one project at a time: ${offered.output.trim()}`);
    return await runVitest(projects, []);
  }
  const inLane = (index) => ["sh", "scripts/test-lane.sh", index];
  const [swift, ...runs] = await Promise.all([
    runSwift([], inLane("swift")),
    ...lanes.map((lane, index) => runVitestOnce(lane, [], inLane(index))),
  ]);
  let totals = swift;
  for (const [index, first] of runs.entries()) totals = sum(totals, await judged(first, lanes[index], inLane(index)));
  return totals;
}

/** What the machine's owner asked for, or what it can bear. */
function worldCount() {
  const machine = { cores: availableParallelism(), memoryGiB: totalmem() / 2 ** 30 };
  return worldsFor({ ...machine, asked: process.env.AGENTKERNEL_TEST_WORLDS });
}

/** Null where the machine has none, which is said. */
async function offeredWorlds() {
  const worlds = new Worlds(root, colours);
  const missing = await worlds.missing();
  if (missing === null) return worlds;
  await worlds.close();
  say(`\nFiles do not run in worlds of their own here: ${missing}`);
  return null;
}

/** Files side by side, then once more, alone, what may be tried again. Ends the worlds. */
async function runInWorlds(worlds, count, chosenProjects, filters) {
  const [files, made] = await Promise.all([filesIn(chosenProjects, filters), madeRoots()]);
  if (!made.ok) say(`\nNot all roots of Debian's packages could be made: ${made.output.trim()}`);
  if (files.length === 0) return await worlds.close().then(() => noTotals);
  const used = Math.min(count, files.length);
  say(`\n== vitest ${[...chosenProjects, ...filters].join(" ")}: ${files.length} files in ${used} worlds`);
  const runs = new Map();
  const processorOf = new Map();
  const done = ({ project, file, report, unhandled, processorMs: tookMs, output }) => {
    processorOf.set(`${project} ${file}`, tookMs === null ? null : Math.round(tookMs));
    const run = runs.get(project) ?? { ok: true, output: "", report: { testResults: [] } };
    runs.set(project, run);
    run.report.testResults.push(...report.testResults);
    if (unhandled.length > 0) {
      run.ok = false;
      run.output += `Unhandled Error of ${file}\n`;
      failures.push(...unhandled.map((reason) => `FAIL ${file} (${project}), outside of any test\n     ${reason}`));
    }
    sayOfFile({ project, file, report, processorMs: tookMs, isFailed: unhandled.length > 0, output });
  };
  const step = { name: `${used} worlds`, elapsedMs: 0, processorMs: null };
  const startedMs = Date.now();
  const weights = weightsOf(readTimes(), JSON.parse(readFileSync(weightsPath, "utf8")));
  const limitMs = stepTimeoutMinutes * 60_000;
  try {
    await worlds.run({ files, weights, count, pattern: testName, limitMs, done, progress: showProgress });
  } finally {
    await worlds.close();
    clearProgress();
  }
  step.elapsedMs = Date.now() - startedMs;
  step.processorMs = processorMs();
  step.files = [...runs].flatMap(([project, { report }]) =>
    filesOf(report, root).map((one) => ({
      ...one,
      project,
      processorMs: processorOf.get(`${project} ${one.file}`) ?? null,
    })),
  );
  steps.push(step);
  let totals = noTotals;
  for (const [project, run] of runs)
    totals = sum(totals, await judged(run, [project], ["sh", "scripts/test-lane.sh", "again"]));
  return totals;
}

/** One line as a file ends, and all that it printed where it went wrong. */
function sayOfFile({ project, file, report, processorMs: tookMs, isFailed, output }) {
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const ran = tests.filter(({ status }) => status === "passed" || status === "failed").length;
  const [{ status = "failed", startTime = 0, endTime = 0 } = {}] = report.testResults;
  const isGood = status !== "failed" && !isFailed;
  const took = `${((endTime - startTime) / 1000).toFixed(1)} s`;
  const computed = tookMs === null ? "" : `, ${(tookMs / 1000).toFixed(1)} s of a processor`;
  say(`${isGood ? "ok  " : "FAIL"} ${project} ${file} (${ran} tests, ${took}${computed})`);
  if (output.trim() !== "") say(output.trimEnd());
}

/** What worlds without a network cannot make; begun once, and early. */
function madeRoots() {
  roots ??= execute("roots of Debian", root, process.execPath, [join("scripts", "fetch-roots.mjs")], false);
  return roots;
}

/** Each {project, file}, the path within the checkout. */
async function filesIn(chosenProjects, filters) {
  const args = ["list", "--filesOnly", "--json", ...chosenProjects.flatMap((name) => ["--project", name]), ...filters];
  const { ok, output } = await execute("list of files", root, bin("vitest"), args, false);
  if (!ok) throw new Error(`vitest does not list the test files: ${output}`);
  return JSON.parse(output).map(({ file, projectName }) => ({ project: projectName, file: relative(root, file) }));
}

async function runVitest(chosenProjects, filters) {
  const chosen = chosenProjects.length > 0 ? chosenProjects : projects.filter((name) => name !== "swift");
  const inside = chosen.filter((name) => !outsideWorlds.includes(name));
  const count = worldCount();
  const worlds = count > 1 && inside.length > 0 ? await offeredWorlds() : null;
  if (worlds === null) return await runWithoutWorlds(chosenProjects, filters);
  const totals = await runInWorlds(worlds, count, inside, filters);
  const outside = chosen.filter((name) => outsideWorlds.includes(name));
  if (outside.length === 0 || (await filesIn(outside, filters)).length === 0) return totals;
  return sum(totals, await runWithoutWorlds(outside, filters));
}

async function runWithoutWorlds(chosenProjects, filters) {
  const others = chosenProjects.filter((name) => name !== "swift");
  const isSwift = others.length < chosenProjects.length;
  let totals = noTotals;
  if (others.length + (isSwift ? 0 : filters.length) > 0) {
    totals = await judged(await runVitestOnce(others, filters, []), others, []);
  }
  return isSwift ? sum(totals, await runSwift(filters, [])) : totals;
}

/** Builds the SDK for Swift and runs its own tests; then what holds it to the scenarios. */
async function runSwift(filters, lane) {
  const [command, ...words] = [...lane, ...swiftCheck];
  const { ok, status, step, output } = await execute("SDK for swift", root, command, words, false);
  const took = `(${(step.elapsedMs / 1000).toFixed(1)} s)`;
  if (status === NO_SWIFT) {
    say(`\nNOT TRIED: the SDK for Swift: ${output.trim()}`);
    return { ...noTotals, skipped: 1 };
  }
  say(`\n${ok ? "ok  " : "FAIL"} SDK for swift ${took}`);
  if (ok) {
    const tried = await judged(await runVitestOnce(["swift"], filters, lane), ["swift"], lane);
    return sum({ ...noTotals, passed: 1 }, tried);
  }
  say(output.trimEnd());
  failures.push(`FAIL SDK for swift: scripts/build-sdk.sh swift check ended with ${status}`);
  return { ...noTotals, failed: 1 };
}

/** The totals of a run, after what may run again has. What stays red is told with the command that runs it alone. */
async function judged(first, chosenProjects, lane) {
  const again = filesToTryAgain(first.report, first.output);
  const second = again.length === 0 ? null : await runVitestOnce(chosenProjects, again, lane);
  const report = second === null ? first.report : withSecondTry(first.report, second.report);
  if (second !== null) unsteady.push(...unsteadyOf(first.report, second.report));
  failures.push(...failuresOf(report));
  failures.push(
    ...failedTests(report).map(({ file, title }) => {
      const project = chosenProjects.length === 1 ? chosenProjects[0] : projectOf(file, chosenProjects);
      return `     ${commandFor(project, relative(root, file), title)}`;
    }),
  );
  return vitestTotals(report, (second ?? first).ok);
}

async function runVitestOnce(chosenProjects, filters, lane) {
  say(`\n== vitest ${[...chosenProjects, ...filters].join(" ")}`.trimEnd());
  const reportPath = join(root, ".build", `vitest-${chosenProjects.join("-") || "some"}.json`);
  mkdirSync(dirname(reportPath), { recursive: true });
  rmSync(reportPath, { force: true });
  const reporters = ["default", "./scripts/failure-reporter.mjs", "json"].map((name) => `--reporter=${name}`);
  const args = ["run", ...reporters, `--outputFile.json=${reportPath}`];
  for (const project of chosenProjects) args.push("--project", project);
  if (testName !== null) args.push("-t", testName);
  const [command, ...words] = [...lane.map(String), bin("vitest"), ...args, ...filters];
  const { ok, step, output } = await execute(`vitest ${chosenProjects.join(" ")}`, root, command, words, true);
  const report = readReport(reportPath);
  step.files = filesOf(report, root);
  return { ok, output, report };
}

function readReport(reportPath) {
  try {
    return JSON.parse(readFileSync(reportPath, "utf8"));
  } catch (error) {
    say(`vitest left no readable report: ${error.message}`);
    return undefined;
  }
}

function sum(one, other) {
  return Object.fromEntries(Object.keys(noTotals).map((key) => [key, one[key] + other[key]]));
}

/** The project of a file among several, by its folder; security's own where it cannot be told. */
function projectOf(file, chosenProjects) {
  const [folder = ""] = relative(join(root, "test"), file).split("/");
  return (
    chosenProjects.find((name) => name === folder) ?? chosenProjects.find((name) => name.startsWith(folder)) ?? "unit"
  );
}

async function main(words) {
  const parts = words.filter((word) => ["static", "rust", "bench"].includes(word));
  const chosenProjects = words.filter((word) => projects.includes(word));
  const filters = words.filter((word) => !parts.includes(word) && !projects.includes(word));
  const everything = words.length === 0;
  let totals = noTotals;
  const add = (more) => {
    totals = sum(totals, more);
  };

  const startedMs = Date.now();
  const setup = await execute("set-up", root, "sh", [join(root, "scripts", "setup.sh"), "test"], true);
  if (!setup.ok) {
    say("FAIL set-up");
    add({ ...noTotals, failed: 1 });
  } else {
    if (everything) madeRoots();
    if (everything || parts.includes("static")) for (const check of staticChecks) add(await runStaticCheck(check));
    if (everything || parts.includes("rust")) add(await runCargoTests());
    if (everything) add(await runAllVitest());
    else if (chosenProjects.length + filters.length > 0) add(await runVitest(chosenProjects, filters));
    // Last, and alone: what is timed wants the machine for itself.
    if (everything || parts.includes("bench")) add(await runStaticCheck(benchGuard));
  }

  if (everything) keepTimes({ elapsedMs: Date.now() - startedMs, steps });
  if (unsteady.length > 0) say(`\n${unsteady.join("\n")}`);
  if (failures.length > 0) say(`\n${failures.join("\n")}`);
  if (totals.passed + totals.failed === 0) say("\nNo test ran.");
  say(`\n${totals.passed} passed, ${totals.failed} failed${totals.skipped > 0 ? `, ${totals.skipped} skipped` : ""}`);
  process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0;
}

function keepTimes(times) {
  mkdirSync(dirname(timesPath), { recursive: true });
  writeFileSync(timesPath, `${JSON.stringify(times)}\n`);
  say(`\n${timesTable(times).join("\n")}`);
}

/** Of the last whole run, or undefined. */
function readTimes() {
  return existsSync(timesPath) ? JSON.parse(readFileSync(timesPath, "utf8")) : undefined;
}

function showTimes() {
  const times = readTimes();
  if (times !== undefined) return say(timesTable(times).join("\n"));
  say("No whole run has been timed in this checkout: run npm test first.");
  process.exitCode = 1;
}

/** The value of an option, which is taken out of the words. */
function takeOption(words, option) {
  const at = words.indexOf(option);
  return at === -1 ? null : (words.splice(at, 2)[1] ?? null);
}

const asked = process.argv.slice(2);
/** Only tests whose names this regular expression finds, or null. */
const testName = takeOption(asked, "-t");
try {
  worldCount();
} catch (error) {
  say(`npm test: ${error.message}`);
  process.exit(2);
}
if (asked.length === 1 && asked[0] === "times") showTimes();
else await main(asked);
