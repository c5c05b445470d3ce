import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { filesOf, laneClock, processorClock, timesTable } from "./test-times.mjs";

const test = (fullName: string, duration: number, status = "passed") => ({
  fullName,
  duration,
  status,
  failureMessages: [],
});
const report = {
  testResults: [
    {
      name: "/checkout/test/a.test.ts",
      status: "passed",
      message: "",
      startTime: 1000,
      endTime: 4500,
      assertionResults: [test("slow", 2000), test("quick", 10.4), test("left out", 900, "skipped")],
    },
  ],
};

it("tells set-up apart from tests", () => {
  expect(filesOf(report, "/checkout")).toEqual([
    {
      file: "test/a.test.ts",
      elapsedMs: 3500,
      setupMs: 1490,
      tests: [
        { name: "slow", ms: 2000 },
        { name: "quick", ms: 10 },
      ],
    },
  ]);
  expect(filesOf(undefined, "/checkout")).toEqual([]);
});

it("lists the slowest first", () => {
  const lines = timesTable({
    elapsedMs: 60_000,
    steps: [
      { name: "biome", elapsedMs: 2_000, processorMs: null },
      { name: "e2e", elapsedMs: 58_000, processorMs: 30_000, files: filesOf(report, "/checkout") },
    ],
  });
  expect(lines[0]).toBe("Where the time went (60.0 s in all)");
  expect(lines).toContain("      58.0 s      30.0 s  e2e");
  const tests = lines.slice(lines.indexOf("The 2 slowest tests") + 1);
  expect(tests.map((line) => line.trim())).toEqual([
    "2.0 s  slow (test/a.test.ts, e2e)",
    "0.0 s  quick (test/a.test.ts, e2e)",
  ]);
});

it("lists what took the most processor time, where that was counted", () => {
  const files = filesOf(report, "/checkout").map((one) => ({ ...one, processorMs: 1500, project: "e2e" }));
  const lines = timesTable({ elapsedMs: 60_000, steps: [{ name: "worlds", elapsedMs: 1, processorMs: null, files }] });
  expect(lines.slice(lines.indexOf("The 1 files that took the most processor time") + 2)[0]?.trim()).toBe(
    "3.5 s       1.5 s  test/a.test.ts (e2e)",
  );
});

it("reads a lane's processor time from its cgroup, since it was asked last", () => {
  const mount = mkdtempSync(join(tmpdir(), "agentkernel-test-times-"));
  try {
    const used = join(mount, "mine", "lane-1", "cpuacct.usage");
    mkdirSync(dirname(used), { recursive: true });
    writeFileSync(used, "5000000\n");
    const clock = laneClock("lane-1", mount, "3:cpu:/x\n2:cpuacct:/mine\n0::/\n");
    writeFileSync(used, "12000000\n");
    expect([clock(), clock()]).toEqual([7, 0]);
    expect(laneClock("lane-2", mount, "2:cpuacct:/mine\n")()).toBeNull();
    expect(laneClock("lane-1", mount, "2:cpu,cpuacct:/mine\n")()).toBeNull();
  } finally {
    rmSync(mount, { recursive: true });
  }
});

it("asks the kernel how long children computed", () => {
  const clock = processorClock();
  spawnSync(process.execPath, ["-e", "while (process.cpuUsage().user < 200_000);"]);
  expect(clock()).toBeGreaterThan(100);
  expect(clock()).toBe(0);
});
