/**
 * kill -9 of the daemon, and of whoever copies, at each step of a snapshot, a fork and a removal. A snapshot is there
 * whole or not at all, what was held still goes on, and nothing is left of what was half made.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { isGone } from "../support/process-tree.js";
import { inWorld, SandboxWorld } from "../support/sandbox-world.js";
import { atEachPoint, Striker } from "../support/strike.js";

/** Only root may strike at processes of a daemon, and mount. */
const isRoot = ({ name }: { readonly name: string }) => name === "root";

const calls = {
  daemon: ["mkdir", "rename", "fsync", "writev", "rmdir", "unlink"],
  copier: ["flock", "mkdirat", "copy_file_range", "linkat", "unlinkat"],
} as const;

interface Step {
  readonly words: readonly string[];
  readonly victims: readonly (keyof typeof calls)[];
}

/** Whoever copies does the same for all of them, and a restored sandbox appears as a fork does. */
const steps: Readonly<Record<string, Step>> = {
  snapshot: { words: ["snapshot", "--name", "fresh", "box"], victims: ["daemon", "copier"] },
  fork: { words: ["fork", "box", "twin"], victims: ["daemon"] },
  "snapshots remove": { words: ["snapshots", "remove", "base"], victims: ["daemon"] },
};

const prepare = async (world: SandboxWorld): Promise<void> => {
  await world.started("box");
  await world.ok(["exec", "box", "sh", "-c", "mkdir /opt/d; echo kept > /opt/d/mark; ln /opt/d/mark /opt/mark"]);
  await world.ok(["stop", "box"]);
  await world.ok(["snapshot", "--name", "base", "box"]);
  await world.ok(["start", "box"]);
};

async function expectWhole(world: SandboxWorld, at: string, state: string): Promise<void> {
  const states = await world.states();
  expect(states.box, at).toBe(state);
  const reads = async (name: string) =>
    expect((await world.ak(["exec", name, "cat", "/opt/mark"])).stdout, `${at}: ${name}`).toBe("kept\n");
  await reads("box");
  if (states.twin !== undefined) await reads("twin");
  const { data } = JSON.parse(await world.ok(["snapshots", "list", "--json"]));
  for (const { name } of data) {
    await world.ok(["restore", name, "again"]);
    await reads("again");
    await world.ok(["remove", "--force", "again"]);
    await world.ok(["snapshots", "remove", name]);
  }
  await world.ok(["remove", "--force", ...Object.keys(states)]);
  // What removed ones had written is deleted in the background.
  await expect
    .poll(() => readdirSync(world.folder("")).filter((entry) => entry !== ".daemon"), { message: at })
    .toEqual([]);
  expect(readdirSync(join(world.folder(""), "../snapshots")), at).toEqual([]);
}

describe.each(actors.filter(isRoot))("as $name", (actor) => {
  leavesNothingBehind();

  describe.each(Object.entries(steps))("during %s", (name, { words, victims }) => {
    it.each(victims)("kill -9 of the %s at each step", { timeout: 600_000 }, async (victim) => {
      await inWorld(actor, async (world) => {
        const struck = await atEachPoint(calls[victim], async (point) => {
          await prepare(world);
          const follow = victim === "copier" ? { follow: true } : {};
          const striker = await Striker.at(world.daemon.pid, point, follow);
          await world.watch(words).end;
          const wasStruck = (await striker.off()) || isGone(world.daemon.pid);
          if (isGone(world.daemon.pid)) {
            await world.daemon.exited;
            await world.up();
          } else if (wasStruck) {
            // Whoever clears up after a failure was struck as well; the next daemon does it.
            await world.restart();
          }
          await expectWhole(world, `${name}, ${point.call} number ${point.nth}`, "running");
          return wasStruck;
        });
        expect(struck.length).toBeGreaterThan(2);
      });
    });
  });
});

describe.each(actors.filter(isRoot))("a disk that is full", (root) => {
  it("makes no snapshot, says so, and the sandbox goes on", { timeout: 120_000 }, async () => {
    const place = root.ownFolder("small");
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=48m,mode=0755", "none", place]);
    try {
      mkdirSync(join(place, "state"), { mode: 0o700 });
      const world = new SandboxWorld(root, { stateHome: join(place, "state") });
      await world.up();
      try {
        await world.started("box");
        await world.ok(["exec", "box", "sh", "-c", "dd if=/dev/urandom of=/opt/much bs=1M count=30 2>/dev/null"]);
        await world.refuses(["snapshot", "--name", "s", "box"], /[Nn]o space/, /make room/);
        expect(await world.states()).toEqual({ box: "running" });
        expect(JSON.parse(await world.ok(["snapshots", "list", "--json"])).data).toEqual([]);
        expect(await world.ok(["exec", "box", "sh", "-c", "echo goes on"])).toBe("goes on\n");
        await world.ok(["remove", "--force", "box"]);
      } finally {
        await world.down();
      }
    } finally {
      execFileSync("umount", ["-l", place]);
    }
  });
});
