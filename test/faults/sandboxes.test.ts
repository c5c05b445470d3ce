/**
 * kill -9 of each process around a sandbox that stays, at each step of its life, through the daemon. Whatever dies, the
 * next daemon shows it whole or not at all, it can be used with all that it had written, and nothing is left behind.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { isGone, killNow, spinMs } from "../support/process-tree.js";
import { inWorld, type SandboxWorld } from "../support/sandbox-world.js";
import { atEachPoint, Striker, struckAt } from "../support/strike.js";
import { WatchedCli } from "../support/watched-cli.js";

/** What changes something, tells somebody something, or waits for somebody. */
const callsOf = {
  daemon: ["accept4", "write", "writev", "mkdir", "rename", "fsync", "rmdir", "shutdown"],
  client: ["connect", "sendto", "recvfrom", "ppoll"],
  supervisor: ["write", "sendto", "pidfd_send_signal", "rmdir", "flock", "unlinkat", "renameat"],
  guest: ["recvmsg", "clone", "epoll_ctl", "writev", "wait4", "kill"],
  builders: ["clone3", "unshare", "fsmount", "move_mount", "pivot_root", "seccomp", "flock", "sendmsg"],
} as const;
const bare = ["--no-network", "--workspace", "none"];

interface Step {
  readonly words: readonly string[];
  /** Brings a sandbox to where the step begins. */
  readonly before: (world: SandboxWorld) => Promise<void>;
}

const makeStopped = async (world: SandboxWorld): Promise<void> => {
  await world.started("box");
  await world.ok(["exec", "box", "sh", "-c", "echo kept > /opt/mark"]);
  await world.ok(["stop", "box"]);
};
const makeRunning = async (world: SandboxWorld): Promise<void> => {
  await makeStopped(world);
  await world.ok(["start", "box"]);
};

const steps: Readonly<Record<string, Step>> = {
  create: { words: ["create", ...bare, "box"], before: async () => {} },
  start: { words: ["start", "box"], before: makeStopped },
  exec: { words: ["exec", "box", "sh", "-c", "echo up; sleep 0.05; echo down"], before: makeRunning },
  "exec --detach": { words: ["exec", "--detach", "box", "sh", "-c", "echo up; sleep 0.05"], before: makeRunning },
  stop: { words: ["stop", "box"], before: makeRunning },
  remove: { words: ["remove", "--force", "box"], before: makeRunning },
};

/** Whole, or not there; and if it is there, it works and has what it had. */
async function expectConsistent(world: SandboxWorld, step: string): Promise<void> {
  const hadMark = !step.startsWith("create");
  for (const { name, state } of await world.list()) {
    expect(name).toBe("box");
    expect(["created", "running", "stopped"]).toContain(state);
    const { status, stdout, stderr } = await world.ak([
      "exec",
      "box",
      "sh",
      "-c",
      "cat /opt/mark 2>/dev/null; echo works",
    ]);
    expect({ status, stdout }, `${step}: ${stderr}`).toEqual({
      status: 0,
      stdout: hadMark ? "kept\nworks\n" : "works\n",
    });
    await world.ok(["remove", "--force", "box"]);
  }
  expect(await world.states()).toEqual({});
  // What a removed one had written is deleted in the background.
  await expect
    .poll(() => readdirSync(world.folder("")).filter((entry) => entry !== ".daemon"), { message: step })
    .toEqual([]);
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  describe.each(Object.keys(steps))("during %s", (name) => {
    const step = steps[name];
    if (step === undefined) throw new Error("there is no such step");

    it("kill -9 of the daemon at each step that it takes", { timeout: 300_000 }, async () => {
      await inWorld(actor, async (world) => {
        const struck = await atEachPoint(callsOf.daemon, async (point) => {
          await step.before(world);
          const striker = await Striker.at(world.daemon.pid, point);
          await world.watch(step.words).end;
          const wasStruck = (await striker.off()) || isGone(world.daemon.pid);
          if (wasStruck) {
            await world.daemon.exited;
            await world.up();
          }
          await expectConsistent(world, `${name}, ${point.call} number ${point.nth}`);
          return wasStruck;
        });
        expect(struck.length).toBeGreaterThan(3);
      });
    });

    it("kill -9 of the client at each step that it takes", { timeout: 300_000 }, async () => {
      await inWorld(actor, async (world) => {
        const struck = await atEachPoint(callsOf.client, async (point) => {
          await step.before(world);
          const client = struckAt(world.client, point);
          await new WatchedCli(client, step.words).end;
          // What the client had asked for may still be going on; whatever is asked next comes after it.
          await settle(world);
          await expectConsistent(world, `${name}, ${point.call} number ${point.nth}`);
          return client.wasStruck();
        });
        expect(struck.length).toBeGreaterThan(3);
      });
    });
  });

  it("kill -9 of whoever builds the sandbox, at each step of its start", { timeout: 300_000 }, async () => {
    await inWorld(actor, async (world) => {
      const struck = await atEachPoint(callsOf.builders, async (point) => {
        await makeStopped(world);
        const striker = await Striker.at(world.daemon.pid, point, { follow: true });
        await world.watch(["start", "box"]).end;
        await settle(world);
        const wasStruck = await striker.off();
        await expectConsistent(world, `start, ${point.call} number ${point.nth}`);
        return wasStruck;
      });
      expect(struck.length).toBeGreaterThan(callsOf.builders.length);
    });
  });

  describe.each<Victim>(["supervisor", "guest"])("kill -9 of the %s", (victim) => {
    const during = victim === "supervisor" ? ["stop"] : ["exec", "exec --detach", "stop"];
    it.each(during)("at each step that it takes during %s", { timeout: 300_000 }, async (name) => {
      const step = steps[name];
      if (step === undefined) throw new Error("there is no such step");
      await inWorld(actor, async (world) => {
        const struck = await atEachPoint(callsOf[victim], async (point) => {
          await step.before(world);
          const pid = pidOf(world, victim);
          const striker = await Striker.at(pid, point);
          await world.watch(step.words).end;
          await settle(world);
          const wasStruck = await striker.off();
          if (isGone(pid)) await deathIsKnown(world, victim, pid);
          await expectConsistent(world, `${name}, ${point.call} number ${point.nth}`);
          return wasStruck;
        });
        expect(struck.length).toBeGreaterThan(1);
      });
    });

    // It takes no step of its own in most of these, or the sandbox is gone with its last: moments, then.
    it.each(["exec", "exec --detach", "stop", "remove"])("at some moments of %s", async (name) => {
      const step = steps[name];
      if (step === undefined) throw new Error("there is no such step");
      await inWorld(actor, async (world) => {
        for (const delayMs of [0, 3, 10, 30]) {
          await step.before(world);
          const pid = pidOf(world, victim);
          const cli = world.watch(step.words);
          spinMs(delayMs);
          killNow(pid);
          await cli.end;
          await settle(world);
          await deathIsKnown(world, victim, pid);
          await expectConsistent(world, name);
        }
      });
    });

    it("while nobody does anything is told by list", async () => {
      await inWorld(actor, async (world) => {
        await makeRunning(world);
        killNow(pidOf(world, victim));
        await expect.poll(() => world.states()).toEqual({ box: "stopped" });
        await expectConsistent(world, "start");
      });
    });

    it("while there is no daemon is found out by the next one", async () => {
      await inWorld(actor, async (world) => {
        await makeRunning(world);
        await world.ok(["exec", "-d", "box", "sleep", "4501"]);
        const pid = pidOf(world, victim);
        await world.crash();
        killNow(pid);
        await world.up();
        await expect.poll(() => world.states()).toEqual({ box: "stopped" });
        expect((await world.info("box")).execs.at(-1)).toMatchObject({ state: "lost" });
        await expectConsistent(world, "start");
      });
    });
  });

  it.each([".new-", ".gone-"])(
    "what a daemon was making or deleting when it died is never shown, and swept by the next one: %s",
    async (kind) => {
      await inWorld(actor, async (world) => {
        await world.ok(["create", ...bare, "box"]);
        await world.crash();
        execFileSync("cp", ["-a", world.folder("box"), world.folder(`${kind}0123456789abcdef`)]);
        await world.up();
        expect(await world.states()).toEqual({ box: "created" });
        await expect.poll(() => existsSync(world.folder(`${kind}0123456789abcdef`))).toBe(false);
      });
    },
  );
});

type Victim = "supervisor" | "guest";

function pidOf(world: SandboxWorld, victim: Victim): number {
  return world[victim]("box");
}

/**
 * The daemon hears of a death a moment after it; who asks for a command in that moment is told that the sandbox ended,
 * and rightly so. What counts is what it says once it knows: the sandbox stands still, is gone, or was started anew.
 */
async function deathIsKnown(world: SandboxWorld, victim: Victim, pid: number): Promise<void> {
  const isThought = async () => (await world.states()).box === "running" && pidOf(world, victim) === pid;
  await expect.poll(isThought).toBe(false);
}

/** Nothing that was asked for is still going on. */
async function settle(world: SandboxWorld): Promise<void> {
  const atWork = async () => {
    const { stdout } = await world.ak(["daemon", "status", "--json"], { env: { AGENTKERNEL_NODE: process.execPath } });
    return (JSON.parse(stdout) as { data: { at_work: number } }).data.at_work;
  };
  await expect.poll(atWork).toBe(0);
}
