import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { leaksSince, traces } from "../../support/leaks.js";
import { type HeldRun, holdRun } from "../support/process-answers.js";
import { findMarked, marked, untilNoneMarked } from "../support/process-marks.js";
import { compile, projectWith, runOutside } from "../support/process-programs.js";

const WAYS = ["fork", "deaf", "stop", "hold", "storm", "deep"];
/** What a run may take to end after it was told to: the grace time of one second, and a busy machine. */
const END_MS = 1000 + 2500;

interface Survivors {
  readonly run: HeldRun;
  readonly mark: string;
}

/** A run in which all of them live. */
async function survivors(actor: Actor, options: readonly string[] = []): Promise<Survivors> {
  const mark = marked();
  const cwd = projectWith(actor, "process/survive");
  const run = holdRun(actor, [...options, "./survive", mark, ...WAYS], { cwd });
  await run.saw(/ready/);
  expect(findMarked(mark).length).toBeGreaterThan(WAYS.length);
  return { run, mark };
}

async function expectGone(mark: string, before: ReturnType<typeof traces>): Promise<void> {
  expect(await untilNoneMarked(mark)).toEqual([]);
  expect(await leaksSince(before)).toEqual([]);
}

// Not among the ways: a process in uninterruptible sleep. Nothing that a sandbox can reach (its own tmpfs, overlay and
// procfs) blocks a system call that way for longer than an ordinary disk read; a hung network filesystem would, but
// then the kernel itself, for everybody, waits.
describe("P2 processes that try to survive the timeout or the end of the run", () => {
  describe.each(actors)("as $name", (actor) => {
    it("outside they do survive the one who started them", async () => {
      const mark = marked();
      const ran = await runOutside(actor, [compile("process/survive"), mark, "leave", "fork", "deaf"]);
      expect(ran).toMatchObject({ status: 7, stdout: "ready\n" });
      const left = findMarked(mark);
      expect(left.length).toBe(2);
      for (const { pid } of left) process.kill(pid, "SIGKILL");
      expect(await untilNoneMarked(mark)).toEqual([]);
    });

    it("the command ends: its status, and nothing is left", async () => {
      const before = traces();
      const mark = marked();
      const cwd = projectWith(actor, "process/survive");
      const startedAt = performance.now();
      const ran = await holdRun(actor, ["./survive", mark, "leave", ...WAYS], { cwd }).ended();
      expect(ran).toMatchObject({ status: 7, stdout: "ready\n" });
      expect(performance.now() - startedAt).toBeLessThan(END_MS);
      await expectGone(mark, before);
    });

    it("the time is up: 124, and nothing is left", async () => {
      const before = traces();
      const { run, mark } = await survivors(actor, ["--timeout", "1500ms"]);
      const startedAt = performance.now();
      expect((await run.ended()).status).toBe(124);
      expect(performance.now() - startedAt).toBeLessThan(1500 + END_MS);
      await expectGone(mark, before);
    });

    it.each([
      ["SIGINT", 130],
      ["SIGTERM", 143],
      ["SIGHUP", 129],
    ] as const)("%s to the command line: ends within the grace time, and nothing is left", async (signal, status) => {
      const before = traces();
      const { run, mark } = await survivors(actor, ["--grace", "1s"]);
      const startedAt = performance.now();
      run.child.kill(signal);
      expect((await run.ended()).status).toBe(status);
      expect(performance.now() - startedAt).toBeLessThan(END_MS);
      await expectGone(mark, before);
    });

    it("kill -9 of the command line: nothing is left", async () => {
      const before = traces();
      const { run, mark } = await survivors(actor);
      run.child.kill("SIGKILL");
      expect((await run.ended()).signal).toBe("SIGKILL");
      await expectGone(mark, before);
    });
  });
});
