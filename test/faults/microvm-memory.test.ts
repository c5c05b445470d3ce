/**
 * Whoever saves a machine's memory, or brings one back from it, is killed on the way: the machine goes on, or is found
 * ended with its files, and a snapshot is there whole or not at all.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { contractFolder, kernelFolder, machineCache } from "../support/machine-places.js";
import { missingForMachines } from "../support/microvm-backend.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { awaitChild, killNow } from "../support/process-tree.js";
import { inWorld, type SandboxWorld } from "../support/sandbox-world.js";

const TIMEOUT_MS = 300_000;
const soon = { interval: 1, timeout: 120_000 };
const [actor] = actors;
const env = { AGENTKERNEL_KERNEL: kernelFolder, XDG_CACHE_HOME: machineCache };
const image = ["--backend", "microvm", "--image", `rootfs:${contractFolder()}`];
const COUNTER =
  "n=0; while :; do n=$((n+1)); echo $n > /dev/shm/new; mv /dev/shm/new /dev/shm/n; echo $n; sleep 0.1; done";

interface Shown {
  readonly name: string;
  readonly memory: boolean;
}

describe.skipIf(missingForMachines() !== null || actor?.name !== "root")(
  "a machine's memory",
  { timeout: TIMEOUT_MS },
  () => {
    if (actor === undefined) throw new Error("nobody runs tests");
    leavesNothingBehind();
    const residentMib = (world: SandboxWorld): number => {
      const qemu = awaitChild(world.guest("box"), "qemu-system-x86");
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${qemu}/status`, "utf8"))?.[1]) / 1024;
    };
    const memoryOf = (world: SandboxWorld, name: string) => join(world.folder(name), "jail/disk/machine/memory");
    const snapshotsOf = async (world: SandboxWorld): Promise<readonly Shown[]> =>
      JSON.parse(await world.ok(["snapshots", "list", "--json"])).data;
    /** It counts on: one that stands still is found by the test's own end. */
    const countsOn = async (world: SandboxWorld, name: string): Promise<void> => {
      const n = (await world.ok(["exec", name, "cat", "/dev/shm/n"])).trim();
      await world.ok(["exec", name, "sh", "-c", `until test "$(cat /dev/shm/n)" -gt ${n}; do sleep 0.1; done`]);
    };
    const begin = async (world: SandboxWorld): Promise<string> => {
      await world.started("box", image);
      const id = (await world.ok(["exec", "--detach", "box", "sh", "-c", `sync; ${COUNTER}`])).trim();
      // As much that it takes a moment to save it.
      await world.ok([
        "exec",
        "box",
        "sh",
        "-c",
        "head -c 60000000 /dev/urandom > /dev/shm/much; echo kept > /opt/kept; sync",
      ]);
      return id;
    };

    it("is saved by a daemon that is killed: the machine goes on, and the next one saves it whole", async () => {
      await inWorld(
        actor,
        async (world) => {
          const id = await begin(world);
          const cut = world.watch(["snapshot", "--name", "cut", "box"]);
          await expect.poll(() => statSync(memoryOf(world, "box")).size, soon).toBeGreaterThan(0);
          await world.restart();
          await cut.end;
          expect(await world.states()).toEqual({ box: "running" });
          await countsOn(world, "box");
          for (const { name, memory } of await snapshotsOf(world)) {
            expect(memory).toBe(true);
            await world.ok(["snapshots", "remove", name]);
          }
          expect(readdirSync(join(world.folder(""), "../snapshots"))).toEqual([]);
          expect(statSync(memoryOf(world, "box")).size).toBe(0);

          const before = residentMib(world);
          await world.ok(["snapshot", "--name", "whole", "box"]);
          // Looking at memory that the machine never used takes none.
          expect(residentMib(world)).toBeLessThan(before + 128);
          expect(await snapshotsOf(world)).toMatchObject([{ name: "whole", memory: true }]);
          await world.ok(["remove", "--force", "box"]);
          await world.ok(["restore", "--start", "whole", "again"]);
          await countsOn(world, "again");
          // The command that was started in the other one goes on in this one, and is known by the same name.
          const running = (await world.info("again")).execs.filter(({ state }) => state === "running");
          expect(running).toMatchObject([{ id, detached: true }]);
          const { length } = await world.ok(["logs", "again", id]);
          await expect.poll(async () => (await world.ok(["logs", "again", id])).length, soon).toBeGreaterThan(length);
          const numbers = (await world.ok(["logs", "again", id])).trim().split("\n").map(Number);
          expect(numbers).toEqual(numbers.map((_, index) => index + 1));
          await world.ok(["snapshots", "remove", "whole"]);
        },
        { env },
      );
    });

    it("is brought back by a daemon that is killed: what is found has its files", async () => {
      await inWorld(
        actor,
        async (world) => {
          await begin(world);
          await world.ok(["fork", "box", "twin"]);
          await world.ok(["fork", "--no-memory", "box", "files"]);
          const start = world.watch(["start", "twin"]);
          await expect.poll(() => existsSync(join(world.folder("twin"), "jail/waking")), soon).toBe(true);
          await world.restart();
          await start.end;
          expect((await world.states()).twin).not.toBe("running");
          expect(await world.ok(["exec", "twin", "sh", "-c", "cat /opt/kept; ls /dev/shm"])).toBe("kept\n");
          expect(await world.ok(["exec", "files", "sh", "-c", "cat /opt/kept; ls /dev/shm"])).toBe("kept\n");
          expect(existsSync(join(world.folder("twin"), "jail/waking"))).toBe(false);
          await countsOn(world, "box");
        },
        { env },
      );
    });

    it("is not saved where the disk is full, or QEMU is killed meanwhile, and that is said", async () => {
      await onSmallDisk(actor.ownFolder("small"), async (stateHome) => {
        const use = async (world: SandboxWorld) => {
          await begin(world);
          await world.refuses(["snapshot", "--name", "large", "box"], /No space left/, /make room/);
          await countsOn(world, "box");
          expect(statSync(memoryOf(world, "box")).size).toBe(0);
          const cut = world.watch(["snapshot", "--name", "cut", "box"]);
          await expect.poll(() => statSync(memoryOf(world, "box")).size, soon).toBeGreaterThan(0);
          killNow(awaitChild(world.guest("box"), "qemu-system-x86"));
          await cut.end;
          expect(await snapshotsOf(world)).toEqual([]);
          await expect.poll(async () => (await world.states()).box, soon).toBe("stopped");
          expect(await world.ok(["exec", "box", "cat", "/opt/kept"])).toBe("kept\n");
        };
        await inWorld(actor, use, { env, stateHome });
      });
    });
  },
);

/** With room for the machine's disk, and not for its memory. */
async function onSmallDisk(place: string, use: (stateHome: string) => Promise<void>): Promise<void> {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=48m,mode=0755", "none", place]);
  try {
    const stateHome = join(place, "state");
    mkdirSync(stateHome, { mode: 0o700 });
    await use(stateHome);
  } finally {
    execFileSync("umount", ["-l", place]);
  }
}
