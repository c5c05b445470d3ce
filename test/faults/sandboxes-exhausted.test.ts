/** A full disk, no more open files, and clocks that are set, around sandboxes that stay. */
import { execFileSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors, root } from "../support/actors.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { runOutside } from "../support/run-as.js";
import { inWorld, type SandboxWorld } from "../support/sandbox-world.js";

const bare = ["--no-network", "--workspace", "none"];

/** Takes all room there is. */
function fill(folder: string): void {
  const file = openSync(join(folder, "filler"), "w");
  try {
    for (let size = 1 << 16; size > 0; ) {
      try {
        if (writeSync(file, Buffer.alloc(size)) === 0) size = 0;
      } catch {
        size >>= 1;
      }
    }
  } finally {
    closeSync(file);
  }
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it.skipIf(root === undefined)(
    "a full disk: what cannot be written is refused whole, and everything works again with room",
    async () => {
      const disk = actor.ownFolder("disk");
      const options = `size=3m,uid=${actor.uid},gid=${actor.gid},mode=700`;
      execFileSync("mount", ["-t", "tmpfs", "-o", options, "none", disk]);
      try {
        const use = async (world: SandboxWorld) => {
          await world.started("box");
          const id = (
            await world.ok([
              "exec",
              "-d",
              "box",
              "sh",
              "-c",
              "until [ -e /tmp/go ]; do sleep 0.02; done; yes | head -c 200000; echo end; exit 3",
            ])
          ).trim();
          fill(disk);
          expect((await world.ak(["create", ...bare, "other"])).status).toBe(125);
          expect((await world.ak(["exec", "-d", "box", "true"])).status).toBe(125);
          expect(await world.states()).toEqual({ box: "running" });
          // A command that somebody waits for needs no disk, and one whose output cannot be kept is not held up.
          expect(await world.ok(["exec", "box", "sh", "-c", "touch /tmp/go; echo works"])).toBe("works\n");
          await expect
            .poll(async () => (await world.info("box")).execs.find((exec) => exec.id === id)?.exit_code)
            .toBe(3);
          rmSync(join(disk, "filler"));
          expect((await world.ak(["logs", "box", id])).status).toBe(0);
          await world.ok(["create", ...bare, "other"]);
          await world.ok(["stop", "box"]);
          await world.restart();
          expect(await world.states()).toEqual({ box: "stopped", other: "created" });
          const left = () => readdirSync(world.folder("")).filter((name) => name.startsWith(".") && name !== ".daemon");
          await expect.poll(left).toEqual([]);
        };
        await inWorld(actor, use, { stateHome: disk });
      } finally {
        execFileSync("umount", [disk]);
      }
    },
  );

  it("no more open files in the daemon: it says so, lives on, and works again when there are", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const { pid } = world.daemon;
      const limit = (files: string) => {
        expect(runOutside(actor, ["prlimit", "--pid", String(pid), `--nofile=${files}`])).toMatchObject({ status: 0 });
      };
      const usual = /open files\s+(\d+)\s+(\d+)/.exec(readFileSync(`/proc/${pid}/limits`, "latin1"));
      // What is known of this machine has to be found out again, at the worst moment.
      rmSync(join(world.state, "agentkernel", "proofs"), { recursive: true });
      limit(`${readdirSync(`/proc/${pid}/fd`).length + 3}:`);
      const starts = await Promise.all(
        ["a", "b", "c"].map((name) => world.ak(["create", ...bare, name], { deadlineMs: 20_000 })),
      );
      // Where it could not even answer, the client was on its own.
      for (const { status } of starts) expect([0, 125, 127]).toContain(status);
      const started = await world.ak(["start", "a"], { deadlineMs: 20_000 });
      expect([0, 125, 127]).toContain(started.status);
      expect([...starts, started].some(({ status }) => status !== 0)).toBe(true);
      limit(`${usual?.[1]}:`);
      expect(world.daemon.child.exitCode).toBeNull();
      expect(await world.ok(["exec", "box", "echo", "works"])).toBe("works\n");
      for (const { name, state } of await world.list())
        expect([name, state].join(" ")).toMatch(/^(box|a|b|c) (created|running|stopped)$/);
      await world.ok(["create", ...bare, "later"]);
      for (const { name } of await world.list())
        expect(await world.ok(["info", "--json", name])).toContain('"backend":"linux"');
      await world.restart();
      expect((await world.states()).box).toBe("running");
      const left = () => readdirSync(world.folder("")).filter((name) => /^\.(new|gone)-/.test(name));
      await expect.poll(left).toEqual([]);
    });
  });

  it("runs that come while there are no more open files are refused, and those after them get what is theirs", async () => {
    await inWorld(actor, async (world) => {
      const { pid } = world.daemon;
      const usual = /open files\s+(\d+)\s+(\d+)/.exec(readFileSync(`/proc/${pid}/limits`, "latin1"))?.[1];
      const limit = (files: string) => {
        expect(runOutside(actor, ["prlimit", "--pid", String(pid), `--nofile=${files}`])).toMatchObject({ status: 0 });
      };
      const runs = (names: readonly string[]) =>
        Promise.all(names.map((name) => world.ak(["run", ...bare, "echo", name], { deadlineMs: 20_000 })));
      for (const room of [1, 2, 4, 6]) {
        limit(`${readdirSync(`/proc/${pid}/fd`).length + room}:`);
        for (const { status } of await runs(["a", "b", "c"])) expect([0, 125, 127], `${room}`).toContain(status);
        limit(`${usual}:`);
        const names = ["d", "e", "f", "g"].map((name) => `${name}${room}`);
        expect((await runs(names)).map(({ stdout }) => stdout.trim())).toEqual(names);
      }
      expect(world.daemon.child.exitCode).toBeNull();
    });
  });

  it("a record that says it was made by a clock far off removes nothing", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box", ["--ttl", "1h"]);
      const path = join(world.folder("box"), "sandbox.json");
      for (const wallMs of [0, Date.now() + 1e12]) {
        await world.crash();
        const record = JSON.parse(readFileSync(path, "utf8"));
        writeFileSync(path, JSON.stringify({ ...record, ttlFrom: { ...record.ttlFrom, wallMs } }));
        await world.up();
        expect(await world.states()).toEqual({ box: "running" });
      }
      // Made before a reboot, by the wall clock long ago: not in the first minutes.
      await world.crash();
      const record = JSON.parse(readFileSync(path, "utf8"));
      writeFileSync(path, JSON.stringify({ ...record, ttlFrom: { wallMs: 0, bootMs: 0, bootId: "another" } }));
      await world.up();
      expect(await world.states()).toEqual({ box: "running" });
    });
  });
});
