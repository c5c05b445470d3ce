/**
 * kill -9 of each process of a run, at each step: while it starts (moments from the appearance of the process on, in
 * small steps, so that every stage of the start is hit), while its command runs, and while it ends. Whatever dies,
 * the others end by themselves, the user is told, and nothing is left: no process, mount, cgroup, socket or file.
 */
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { leaksSince, traces } from "../support/leaks.js";
import { awaitGuest, awaitJail, killNow, spinMs } from "../support/process-tree.js";
import { makeProject } from "../support/project.js";
import { runIn } from "../support/run-cli.js";
import { type CliEnd, WatchedCli } from "../support/watched-cli.js";

const victims = ["command line", "jail", "guest", "command line and jail"] as const;
type Victim = (typeof victims)[number];

/** A start takes about 5 ms from the jail's first moment to the guest's ready frame. */
const startDelaysMs = Array.from({ length: 34 }, (_, at) => at * 0.25);
const endDelaysMs = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 8];

/** A live project: the form that leaves the most to clean up (placeholders on the host, and their journal). */
const words = (script: string) => ["run", "--no-network", "--workspace", "mount", "sh", "-c", script];

describe.each(actors)("as $name", (actor) => {
  describe.each(victims)("kill -9 of the %s", (victim) => {
    it("while the sandbox starts", async () => {
      for (const delayMs of startDelaysMs) {
        await survive(actor, victim, `${delayMs} ms into the start`, async (cli) => {
          strike(cli, victim, delayMs);
        });
      }
    });

    it("while the command runs", async () => {
      await survive(actor, victim, "running", async (cli) => {
        await cli.until(/running/);
        strike(cli, victim, 0);
      });
    });

    it("while the sandbox ends", async () => {
      for (const delayMs of endDelaysMs) {
        await survive(actor, victim, `${delayMs} ms into the end`, async (cli) => {
          await cli.until(/running/);
          const jail = awaitJail(cli.pid);
          const guest = awaitGuest(jail);
          cli.type("\n");
          spinMs(delayMs);
          if (victim !== "guest") killAll(victim, cli.pid, jail);
          else killNow(guest);
        });
      }
    });
  });
});

async function survive(actor: Actor, victim: Victim, step: string, kill: (cli: WatchedCli) => Promise<void>) {
  const project = makeProject(actor, { "a.txt": "a\n", ".git/config": "[core]\n" });
  const content = project.content();
  const before = traces();
  const cli = new WatchedCli(actor, words("(setsid sleep 4100 &); echo running; read go"), { cwd: project.path });
  await kill(cli);
  const end = await cli.end;
  if (victim === "command line and jail") {
    // Nobody was left who could have cleaned up: the next run does.
    expect(await runIn(actor, ["--workspace", "none", "true"]), step).toMatchObject({ status: 0 });
  }
  expect(await leaksSince(before), step).toEqual([]);
  await expect.poll(() => project.content(), { message: step, timeout: 5000, interval: 10 }).toEqual(content);
  expect(end, step).toSatisfy((told: CliEnd) => isRightEnd(victim, told));
}

function strike(cli: WatchedCli, victim: Victim, delayMs: number): void {
  const jail = awaitJail(cli.pid);
  if (victim === "guest") {
    const guest = awaitGuest(jail);
    spinMs(delayMs);
    killNow(guest);
  } else {
    spinMs(delayMs);
    killAll(victim, cli.pid, jail);
  }
}

function killAll(victim: Victim, cli: number, jail: number): void {
  if (victim !== "jail") killNow(cli);
  if (victim !== "command line") killNow(jail);
}

/** A command line that lives says what happened, in one sentence; if all was over before the blow, it is a success. */
function isRightEnd(victim: Victim, { status, signal, stderr }: CliEnd): boolean {
  if (victim !== "jail" && victim !== "guest") return signal === "SIGKILL" || status === 0;
  const complaints = stderr
    .split("\n")
    .filter((line) => line.startsWith("agentkernel: ") && !/: a live mount|cgroup:/.test(line));
  const isTold = complaints.length === 1 && /sandbox/.test(complaints[0] ?? "") && !/ at .*:\d+:\d+/.test(stderr);
  return status === 0 || (status === 125 && isTold);
}
