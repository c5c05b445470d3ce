import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { commandFor, groups, MACHINE, progressLine, Queue, weightsOf, worldsFor } from "./test-plan.mjs";

const e2e = (name: string) => ({ project: "e2e", file: `test/e2e/${name}.test.ts` });
const seconds = (table: Readonly<Record<string, number>>) => weightsOf(undefined, table);

/** Which world ran what, if each file takes its weight of time. */
function played(queue: Queue, worlds: number): readonly string[][] {
  const ran: string[][] = Array.from({ length: worlds }, () => []);
  const freeAt = ran.map(() => 0);
  const isDone = ran.map(() => false);
  while (isDone.includes(false)) {
    const open = freeAt.map((at, world) => (isDone[world] ? Number.POSITIVE_INFINITY : at));
    const world = open.indexOf(Math.min(...open));
    const job = queue.take(world);
    if (job === undefined) isDone[world] = true;
    else {
      ran[world]?.push(`${job.project} ${job.file}`);
      freeAt[world] = (freeAt[world] ?? 0) + job.weightMs;
    }
  }
  return ran;
}

describe("the queue of test files", () => {
  const weights = seconds({ "e2e test/e2e/a.test.ts": 1, "e2e test/e2e/b.test.ts": 60, "e2e test/e2e/c.test.ts": 30 });

  it("gives the longest first, each once", () => {
    const queue = new Queue([e2e("a"), e2e("b"), e2e("c"), e2e("new")], weights);
    const taken = [1, 2, 1, 2].map((world) => queue.take(world)?.file);
    expect(taken).toEqual(["b", "c", "new", "a"].map((name) => e2e(name).file));
    expect(queue.take(1)).toBeUndefined();
    expect(queue).toMatchObject({ length: 0, weightMs: 0 });
  });

  it("gives what is fetched to the world with the machine's network only, and there first", () => {
    const fetching = e2e("agents-inside");
    const queue = new Queue([e2e("a"), fetching, e2e("b")], weights);
    expect(queue.take(MACHINE + 1)).toMatchObject(e2e("b"));
    expect(queue.take(MACHINE)).toMatchObject(fetching);
    expect(new Queue([fetching], weights).take(MACHINE + 1)).toBeUndefined();
  });

  it("keeps the files of a shared engine in one world, as early as all of them together want", () => {
    const engine = ["x", "y", "z"].map((name) => ({
      project: "security-docker",
      file: `test/security/${name}.test.ts`,
    }));
    const heavy = seconds({ "e2e test/e2e/b.test.ts": 20, "e2e test/e2e/c.test.ts": 19 });
    const ran = played(new Queue([...engine, e2e("a"), e2e("b"), e2e("c")], heavy), 3);
    const withEngine = ran.filter((files) => files.some((file) => file.startsWith("security-docker ")));
    expect(withEngine).toHaveLength(1);
    expect(withEngine[0]?.slice(0, 3)).toEqual(engine.map(({ project, file }) => `${project} ${file}`));
    expect(ran.flat()).toHaveLength(6);
  });
});

it("there are as many worlds as a machine can bear", () => {
  const machine = { cores: 2, memoryGiB: 23.5, asked: undefined };
  expect(worldsFor(machine)).toBe(4);
  expect(worldsFor({ ...machine, memoryGiB: 8 })).toBe(2);
  expect(worldsFor({ ...machine, memoryGiB: 2 })).toBe(1);
  expect(worldsFor({ ...machine, asked: "7" })).toBe(7);
  expect(() => worldsFor({ ...machine, asked: "many" })).toThrow(/AGENTKERNEL_TEST_WORLDS/);
});

it("a file's last time counts for more than the table", () => {
  const files = [{ file: "test/e2e/a.test.ts", project: "e2e", elapsedMs: 7, setupMs: 0, tests: [] }];
  const older = [{ file: "test/e2e/b.test.ts", elapsedMs: 8, setupMs: 0, tests: [] }];
  const step = { elapsedMs: 0, processorMs: null };
  const steps = [
    { ...step, name: "4 worlds", files },
    { ...step, name: "e2e", files: older },
  ];
  const weights = weightsOf({ elapsedMs: 0, steps }, { "e2e test/e2e/a.test.ts": 9, "e2e test/e2e/c.test.ts": 1 });
  expect(Object.fromEntries(weights)).toEqual({
    "e2e test/e2e/a.test.ts": 7,
    "e2e test/e2e/b.test.ts": 8,
    "e2e test/e2e/c.test.ts": 1000,
  });
});

it("each row of the table of groups has a reason, and a file or a project", () => {
  const files = readdirSync("test", { recursive: true, encoding: "utf8" }).map((path) => `test/${path}`);
  const projects = readFileSync("vitest.config.ts", "utf8");
  for (const { files: some, project, reason } of groups) {
    expect(reason).not.toBe("");
    if (project === undefined) expect(files.filter((path) => some?.test(path))).not.toEqual([]);
    else expect(projects).toContain(`securityOn("${project.replace("security-", "")}"`);
  }
});

it("progress is counted and estimated by weight", () => {
  const progress = { done: 3, total: 9, failed: 1, doneWeightMs: 100_000, leftWeightMs: 300_000, elapsedMs: 65_000 };
  expect(progressLine({ ...progress, running: ["daemon", "audit"] })).toBe(
    "1:05  3/9 files, 1 failed, about 3:15 left: daemon audit",
  );
  expect(progressLine({ ...progress, doneWeightMs: 0, running: [] })).not.toContain("left");
});

it("the command for a failed test names it to the shell and to vitest, whatever is in its name", () => {
  const title = "it's a|b (c) $d";
  const command = commandFor("e2e", "test/e2e/a.test.ts", title);
  const words = execFileSync("sh", ["-c", `printf '%s\\n' ${command.replace("npm test --", "")}`], {
    encoding: "utf8",
  });
  const [project, file, option, pattern = ""] = words.split("\n");
  expect([project, file, option]).toEqual(["e2e", "test/e2e/a.test.ts", "-t"]);
  expect(new RegExp(pattern).exec(title)?.[0]).toBe(title);
  expect(commandFor("unit", "src/a.test.ts", null)).toBe("npm test -- unit src/a.test.ts");
});
