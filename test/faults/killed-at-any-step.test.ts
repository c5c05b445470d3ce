/**
 * kill -9 of each process of a run, at each step: as somebody is about to make a system call of those that build, own,
 * serve and clear up a sandbox, and while its command runs. Whatever dies, the others end by themselves, the user is
 * told, and nothing is left: no process, mount, cgroup, socket or file.
 */
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { leaksSince, traces } from "../support/leaks.js";
import { awaitGuest, awaitJail, killNow, spinMs } from "../support/process-tree.js";
import { makeProject, type Project } from "../support/project.js";
import { runIn } from "../support/run-cli.js";
import { atEachPoint, struckAt } from "../support/strike.js";
import { type CliEnd, WatchedCli } from "../support/watched-cli.js";

/** A live project: the form that leaves the most to clean up (placeholders on the host, and their journal). */
const words = (script: string) => ["run", "--no-network", "--workspace", "mount", "sh", "-c", script];

/** Who makes these calls, most of all; whoever comes to the point first is struck. */
const steps: Readonly<Record<string, readonly string[]>> = {
  "building the sandbox": ["clone3", "unshare", "fsmount", "open_tree", "move_mount", "mount_setattr", "pivot_root"],
  "raising its walls": ["sethostname", "setresuid", "capset", "landlock_restrict_self", "seccomp", "execveat"],
  "owning what lies outside": ["bind", "mkdir", "mkdirat", "flock", "symlinkat"],
  "talking to each other": ["sendmsg", "recvmsg", "accept4", "connect", "shutdown", "writev"],
  "starting the command and waiting for it": ["clone", "execve", "waitid", "wait4", "kill"],
  "clearing up": ["unlink", "unlinkat", "rmdir", "umount2"],
};

/** A start takes about 5 ms from the jail's first moment to the guest's ready frame. */
const startDelaysMs = [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8];
const endDelaysMs = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 8];

const victims = ["command line", "jail", "guest", "command line and jail"] as const;
type Victim = (typeof victims)[number];

describe.each(actors)("as $name", (actor) => {
  it.each(Object.keys(steps))("kill -9 of whoever is %s", { timeout: 300_000 }, async (name) => {
    const struck = await atEachPoint(steps[name] ?? [], async (point) => {
      const step = `${point.call} number ${point.nth}`;
      const victim = struckAt(actor, point);
      const project = makeProject(actor, { "a.txt": "a\n", ".git/config": "[core]\n" });
      const left = await leftBy(project, async () => {
        const cli = new WatchedCli(victim, words("(setsid sleep 4100 &); echo running"), { cwd: project.path });
        cli.child.stdin?.end();
        const end = await cli.end;
        expect(end, step).toSatisfy(isToldOrKilled);
        // Whoever was about to clear up after the dead comes to the same point, and the next run does it.
        expect(await runIn(actor, ["--workspace", "none", "true"]), step).toMatchObject({ status: 0 });
      });
      expect(left, step).toEqual(nothing);
      return victim.wasStruck();
    });
    expect(struck.length).toBeGreaterThan(1);
  });

  describe.each(victims)("kill -9 of the %s", (victim) => {
    it("while the command runs", async () => {
      await survive(actor, victim, "running", (cli) => cli.until(/running/).then(() => strike(cli, victim, 0)));
    });

    // Only here is nobody else struck, so whoever is left has to clear up alone.
    it("at many moments of its start", async () => {
      for (const delayMs of startDelaysMs) {
        await survive(actor, victim, `${delayMs} ms into the start`, async (cli) => strike(cli, victim, delayMs));
      }
    });

    it("at many moments of its end", async () => {
      for (const delayMs of endDelaysMs) {
        await survive(actor, victim, `${delayMs} ms into the end`, async (cli) => {
          await cli.until(/running/);
          const jail = awaitJail(cli.pid);
          const guest = awaitGuest(jail);
          cli.type("\n");
          spinMs(delayMs);
          if (victim === "guest") killNow(guest);
          else killAll(victim, cli.pid, jail);
        });
      }
    });
  });
});

const nothing = { leaks: [], isProjectAsBefore: true };

/** Beside leaks: whether the project is as it was. */
async function leftBy(project: Project, act: () => Promise<void>): Promise<typeof nothing> {
  const content = JSON.stringify(project.content());
  const before = traces();
  await act();
  const leaks = [...(await leaksSince(before))] as never[];
  const isAsBefore = () => JSON.stringify(project.content()) === content;
  for (const until = Date.now() + 20_000; !isAsBefore() && Date.now() < until; ) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return { leaks, isProjectAsBefore: isAsBefore() };
}

async function survive(actor: Actor, victim: Victim, step: string, kill: (cli: WatchedCli) => Promise<void>) {
  const project = makeProject(actor, { "a.txt": "a\n", ".git/config": "[core]\n" });
  const left = await leftBy(project, async () => {
    const cli = new WatchedCli(actor, words("(setsid sleep 4100 &); echo running; read go"), { cwd: project.path });
    await kill(cli);
    const end = await cli.end;
    const isSurvivor = victim === "jail" || victim === "guest";
    // If all was over before the blow, it is a success.
    const isRight = (told: CliEnd) => told.status === 0 || (isSurvivor ? isTold(told) : told.signal === "SIGKILL");
    expect(end, step).toSatisfy(isRight);
    // Where nobody was left who could have cleaned up, the next run does.
    if (victim === "command line and jail") {
      expect(await runIn(actor, ["--workspace", "none", "true"]), step).toMatchObject({ status: 0 });
    }
  });
  expect(left, step).toEqual(nothing);
}

function strike(cli: WatchedCli, victim: Victim, delayMs: number): void {
  const jail = awaitJail(cli.pid);
  if (victim === "guest") {
    const guest = awaitGuest(jail);
    spinMs(delayMs);
    killNow(guest);
    return;
  }
  spinMs(delayMs);
  killAll(victim, cli.pid, jail);
}

function killAll(victim: Victim, cli: number, jail: number): void {
  if (victim !== "jail") killNow(cli);
  if (victim !== "command line") killNow(jail);
}

/** The command line itself died; or it says what happened; or what died was the command, or too late to matter. */
function isToldOrKilled(end: CliEnd): boolean {
  return end.signal === "SIGKILL" || end.status === 0 || end.status === 137 || isTold(end);
}

/** In one sentence, and never as a stack trace. */
function isTold({ status, stderr }: CliEnd): boolean {
  const complaints = stderr
    .split("\n")
    .filter((line) => line.startsWith("agentkernel: ") && !/: a live mount|cgroup:/.test(line));
  const isSentence = complaints.length === 1 && /sandbox/.test(complaints[0] ?? "") && !/ at .*:\d+:\d+/.test(stderr);
  return status === 125 && isSentence;
}
