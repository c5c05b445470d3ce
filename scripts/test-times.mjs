// Where the time of a test run went. Pure but for the clocks at the end: reports in, numbers and lines out.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const SLOWEST = 20;
const TICKS_PER_SECOND = 100;

/**
 * The times of one step's files and tests. Set-up is what a file took beside its tests: hooks, servers, images.
 * @param report vitest's JSON report, or undefined where it left none
 */
export function filesOf(report, root) {
  return (report?.testResults ?? []).map(({ name, startTime, endTime, assertionResults }) => {
    const tests = assertionResults
      .filter(({ status }) => status === "passed" || status === "failed")
      .map(({ fullName, duration }) => ({ name: fullName, ms: Math.round(duration ?? 0) }));
    const inTestsMs = tests.reduce((total, { ms }) => total + ms, 0);
    const elapsedMs = Math.round((endTime ?? 0) - (startTime ?? 0));
    const file = name.startsWith(`${root}/`) ? name.slice(root.length + 1) : name;
    return { file, elapsedMs, setupMs: Math.max(0, elapsedMs - inTestsMs), tests };
  });
}

/** What is shown at the end of a run and by `npm test -- times`. */
export function timesTable({ elapsedMs, steps }) {
  const files = steps.flatMap((step) =>
    (step.files ?? []).map((file) => ({ ...file, step: file.project ?? step.name })),
  );
  const tests = files.flatMap(({ step, file, tests }) => tests.map((test) => ({ ...test, step, file })));
  const slowestFiles = [...files].sort((one, other) => other.elapsedMs - one.elapsedMs).slice(0, SLOWEST);
  const busiestFiles = files
    .filter(({ processorMs }) => typeof processorMs === "number")
    .sort((one, other) => other.processorMs - one.processorMs)
    .slice(0, SLOWEST);
  const slowestTests = [...tests].sort((one, other) => other.ms - one.ms).slice(0, SLOWEST);
  return [
    `Where the time went (${seconds(elapsedMs)} in all)`,
    "",
    "     elapsed   processor  step",
    ...steps.map((step) => `  ${right(step.elapsedMs)}  ${right(step.processorMs)}  ${step.name}`),
    "",
    `The ${slowestFiles.length} slowest files`,
    "     elapsed      set-up  file",
    ...slowestFiles.map((one) => `  ${right(one.elapsedMs)}  ${right(one.setupMs)}  ${one.file} (${one.step})`),
    "",
    ...busiestTable(busiestFiles),
    `The ${slowestTests.length} slowest tests`,
    ...slowestTests.map(({ ms, name, file, step }) => `  ${right(ms)}  ${name} (${file}, ${step})`),
  ];
}

/** Only where processor time was counted for each file. */
function busiestTable(files) {
  if (files.length === 0) return [];
  return [
    `The ${files.length} files that took the most processor time`,
    "     elapsed   processor  file",
    ...files.map((one) => `  ${right(one.elapsedMs)}  ${right(one.processorMs)}  ${one.file} (${one.step})`),
    "",
  ];
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}

function right(ms) {
  return (ms === null || ms === undefined ? "-" : seconds(ms)).padStart(10);
}

/**
 * Tells how much processor time each child of this process took, asked as soon as it has ended. Counted are processes
 * that were waited for: a daemon that outlives its starter is not.
 */
export function processorClock(readStat = () => readFileSync("/proc/self/stat", "utf8")) {
  let before = waitedForMs(readStat());
  return () => {
    const now = waitedForMs(readStat());
    const took = now - before;
    before = now;
    return took;
  };
}

/** Fields 16 and 17 of proc_pid_stat(5), counted after the name, which may hold spaces and brackets. */
function waitedForMs(stat) {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[13]) + Number(fields[14])) * 1000) / TICKS_PER_SECOND;
}

/**
 * Tells how much processor time a lane took since it was asked last, its daemons and sandboxes with it: by the cgroup
 * that test-lane.sh made. Null where there is no such cgroup.
 * @param lane the cgroup's name
 */
export function laneClock(
  lane,
  mount = "/sys/fs/cgroup/cpuacct",
  ownGroups = readFileSync("/proc/self/cgroup", "utf8"),
) {
  const [, own] = /^\d+:cpuacct:(.*)$/m.exec(ownGroups) ?? [];
  const path = own === undefined ? null : join(mount, own, lane, "cpuacct.usage");
  const used = () => (path !== null && existsSync(path) ? Number(readFileSync(path, "utf8")) / 1e6 : null);
  let before = used() ?? 0;
  return () => {
    const now = used();
    if (now === null) return null;
    const took = now - before;
    before = now;
    return took;
  };
}
