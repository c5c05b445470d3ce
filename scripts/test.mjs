// `npm test`: sets the checkout up, then runs every check and test suite, and ends with one line of totals.
//
//   npm test                      everything
//   npm test -- unit              one vitest project: unit, contract, security, faults, e2e
//   npm test -- swift             the SDK for Swift: toolchain, build, its own tests, the scenarios of all SDKs
//   npm test -- security-docker   the security suite on another backend; also -podman, -gvisor and -microvm
//   npm test -- unit src/policy   the same, only files whose path has that text
//   npm test -- static | rust     the checks that run no test | cargo's tests
//   npm test -- bench             the watch over promises in figures
//   npm test -- times             where the time of the last whole run went; runs nothing
//
// It needs nothing but Node until the set-up has run. A step that dies counts as a failure, and so does a run in which
// no test ran: silence is never success.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { filesToTryAgain, unsteadyOf, withSecondTry } from "./second-try.mjs";
import { filesOf, processorClock, timesTable } from "./test-times.mjs";
import { cargoTotals, failuresOf, noTotals, vitestTotals } from "./test-totals.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const native = join(root, "native");
/** Of everything, so that a hang fails the run while there is time to say where it was. */
const stepTimeoutMinutes = 55;
const colours = process.stdout.isTTY ? { FORCE_COLOR: "1", CARGO_TERM_COLOR: "always" } : { NO_COLOR: "1" };
const elsewhere = ["security-docker", "security-podman", "security-gvisor", "security-microvm"];
const projects = ["unit", "contract", "security", ...elsewhere, "faults", "e2e", "swift"];
/** What may run side by side when everything does; about as long as each other. */
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
const processorMs = processorClock();
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

function say(text) {
  process.stdout.write(`${text}\n`);
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

/** Everything in lanes side by side where the machine has them, one after another elsewhere. */
async function runAllVitest() {
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

async function runVitest(chosenProjects, filters) {
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

/** The totals of a run, after what may run again has. */
async function judged(first, chosenProjects, lane) {
  const again = filesToTryAgain(first.report, first.output);
  const second = again.length === 0 ? null : await runVitestOnce(chosenProjects, again, lane);
  const report = second === null ? first.report : withSecondTry(first.report, second.report);
  if (second !== null) unsteady.push(...unsteadyOf(first.report, second.report));
  failures.push(...failuresOf(report));
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

function showTimes() {
  if (existsSync(timesPath)) return say(timesTable(JSON.parse(readFileSync(timesPath, "utf8"))).join("\n"));
  say("No whole run has been timed in this checkout: run npm test first.");
  process.exitCode = 1;
}

const asked = process.argv.slice(2);
if (asked.length === 1 && asked[0] === "times") showTimes();
else await main(asked);
