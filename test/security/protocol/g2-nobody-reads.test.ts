import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { startCli } from "../../support/run-cli.js";
import { findMarked, guestOf, marked, untilNoneMarked } from "../support/process-marks.js";
import { peakMiB, untilHeldBack } from "../support/process-memory.js";
import { runOutside } from "../support/process-programs.js";

const MIB = 1 << 20;

describe("G2 ten gigabytes of output while nobody reads", () => {
  describe.each(actors)("as $name", (actor) => {
    it("outside, a program that keeps what it is sent grows with it", async () => {
      const script =
        "import resource as r, sys; kept = sys.stdin.buffer.read(); print(r.getrusage(r.RUSAGE_SELF).ru_maxrss)";
      const ran = await runOutside(actor, ["sh", "-c", `head -c ${200 * MIB} /dev/zero | python3 -c '${script}'`]);
      expect(Number(ran.stdout)).toBeGreaterThan(190 * 1024);
    });

    it.each(["1", "2"])("the writer on stream %s is held back, and neither side of the wall grows", async (stream) => {
      const mark = marked();
      // The mark stays in the shell's arguments, and its child is the one who writes.
      const script = `head -c 10G /dev/zero >&${stream} & echo ready >&$(( 3 - ${stream} )); wait`;
      const child = startCli(actor, ["run", "--no-network", "sh", "-c", script, mark]);
      if (child.pid === undefined) throw new Error("the command line did not start");
      const [full, other] = stream === "1" ? [child.stdout, child.stderr] : [child.stderr, child.stdout];
      full?.pause();
      await new Promise<void>((resolve) => {
        other?.on("data", (chunk: Buffer) => {
          // Our own remarks about missing walls come first.
          if (String(chunk).includes("ready")) resolve();
        });
      });
      const writer = writerOf(mark);
      const written = await untilHeldBack(writer);
      expect(written).toBeLessThan(16 * MIB);
      expect(peakMiB(child.pid)).toBeLessThan(160);
      expect(peakMiB(guestOf(mark))).toBeLessThan(16);
      const startedAt = performance.now();
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      expect(await ended).toBe(143);
      expect(performance.now() - startedAt).toBeLessThan(20_000);
      child.stdout?.destroy();
      child.stderr?.destroy();
      expect(await untilNoneMarked(mark)).toEqual([]);
    });

    it("the time limit ends it as quickly", async () => {
      const mark = marked();
      const script = "exec head -c 10G /dev/zero";
      const child = startCli(actor, ["run", "--no-network", "--timeout", "700ms", "sh", "-c", script, mark]);
      child.stdout?.pause();
      const startedAt = performance.now();
      expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(124);
      expect(performance.now() - startedAt).toBeLessThan(700 + 3500);
      child.stdout?.destroy();
      child.stderr?.destroy();
    });
  });
});

/** The child of the marked shell; it has the mark too until it has become the writer. */
function writerOf(mark: string): number {
  const shell = Math.min(...findMarked(mark).map(({ pid }) => pid));
  const [writer] = childrenOf(shell);
  if (writer === undefined) throw new Error("the writer is not there");
  return writer;
}

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}
