import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { holdRun } from "../support/process-answers.js";
import { guestOf, marked, untilNoneMarked } from "../support/process-marks.js";
import { compile, projectWith, runOutside } from "../support/process-programs.js";

function failures(stdout: string): readonly (readonly [string, string])[] {
  return stdout
    .trim()
    .split("\n")
    .map((line) => [line.split(" ")[0] ?? "", line.split(" ")[1] ?? ""] as const);
}

const EPERM = "1";
const EACCES = "13";

describe("P3 tracing, reading, signalling and killing the guest and processes of the host", () => {
  describe.each(actors)("as $name", (actor) => {
    const project = () => projectWith(actor, "process/guest-attack");

    it("outside, one process of the actor can do all of it to another", async () => {
      const ran = await runOutside(actor, [compile("process/guest-attack"), "0"]);
      const tried = failures(ran.stdout);
      expect(tried.length).toBeGreaterThan(18);
      // A write to a read-only page and a bad kind of namespace: both past every check of rights.
      const denied = tried.filter(([, errno]) => errno === EPERM || errno === EACCES);
      expect(denied).toEqual([]);
    });

    // $PPID is the process that the guest keeps between itself and the command.
    it.each([
      ["1", "moderate"],
      ["$PPID", "moderate"],
      ["1", "restrictive"],
      ["$PPID", "restrictive"],
    ])("inside, all of it is denied against process %s (%s)", async (pid, profile) => {
      const script = `exec ./guest-attack ${pid}`;
      const ran = await runIn(actor, ["--profile", profile, "sh", "-c", script], { cwd: project() });
      expect(ran.status).toBe(0);
      const tried = failures(ran.stdout);
      expect(tried.length).toBeGreaterThan(18);
      expect(tried.filter(([, errno]) => errno !== EPERM && errno !== EACCES)).toEqual([]);
    });

    it("every signal there is leaves the guest alive, and the command's end is still reported", async () => {
      const cwd = project();
      const command = "./guest-attack signals 1; echo after; exit 5";
      const ran = await runIn(actor, ["sh", "-c", command], { cwd });
      expect(ran).toMatchObject({ status: 5, stdout: expect.stringMatching(/^sent 192, state [SR]\nafter\n$/) });
    });

    it("killing all that can be reached ends the attacker's own helpers, and its end is still reported", async () => {
      const cwd = project();
      expect(await runIn(actor, ["./guest-attack", "everyone"], { cwd })).toMatchObject({
        status: 0,
        stdout: "alone\n",
      });
      // The command itself is among the killed when a child of it does that.
      const child = await runIn(actor, ["sh", "-c", "./guest-attack everyone; echo not reached"], { cwd });
      expect(child).toMatchObject({ status: 137, stdout: "alone\n" });
    });

    it("a process of the host is not there to be signalled", async () => {
      const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
      const host = spawn("sleep", ["60"], { ...identity, stdio: "ignore" });
      try {
        const probe = `import os; os.kill(${host.pid}, 0); print(open("/proc/${host.pid}/cmdline").read())`;
        expect((await runOutside(actor, ["python3", "-c", probe])).stdout).toContain("sleep");
        const ran = await runIn(actor, ["python3", "-c", probe]);
        expect(ran.status).toBe(1);
        expect(ran.stderr).toContain("ProcessLookupError");
        // On gVisor the guest is the parent of the first command itself.
        const pids = (await runIn(actor, ["sh", "-c", "echo 1 $PPID $$: /proc/[0-9]*"])).stdout.trim().split(": ");
        const own = [...new Set(pids[0]?.split(" "))].map((pid) => `/proc/${pid}`);
        expect(pids[1]?.split(" ")).toEqual(own);
      } finally {
        host.kill("SIGKILL");
      }
    });

    it("lowering the guest's own limits harms that sandbox only, which still reports the command's end", async () => {
      const attack = "import resource as r; r.prlimit(1, r.RLIMIT_NOFILE, (3, 3)); print('lowered')";
      const [ran, other] = await Promise.all([
        runIn(actor, ["python3", "-c", attack]),
        runIn(actor, ["sh", "-c", "sleep 0.1; echo untouched"]),
      ]);
      expect(ran).toMatchObject({ status: 0, stdout: "lowered\n" });
      expect(other).toMatchObject({ status: 0, stdout: "untouched\n" });
      const raise = "import resource as r; r.prlimit(1, r.RLIMIT_NOFILE, (1 << 20, 1 << 20))";
      expect((await runIn(actor, ["python3", "-c", raise])).status).toBe(1);
    });

    it("a guest that does die takes its sandbox with it, and that is what the user is told", async () => {
      const mark = marked();
      const run = holdRun(actor, ["sh", "-c", "echo ready; cat; true", mark]);
      await run.saw(/ready/);
      process.kill(guestOf(mark), "SIGKILL");
      const ran = await run.ended();
      expect(ran.status).toBe(125);
      expect(ran.stderr).toMatch(/^agentkernel: The sandbox ended before its work was done/m);
      expect(await untilNoneMarked(mark)).toEqual([]);
    });
  });
});
