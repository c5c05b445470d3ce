/** Snapshots, restored sandboxes and forks, by the real command line. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { makeProject } from "../support/project.js";
import { inWorld, type SandboxWorld } from "../support/sandbox-world.js";

const names = async (world: SandboxWorld): Promise<readonly string[]> =>
  JSON.parse(await world.ok(["snapshots", "list", "--json"])).data.map(({ name }: { name: string }) => name);

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("a snapshot is kept, shown, restored under another name any number of times, and removed", async () => {
    const project = makeProject(actor, { "a.txt": "a\n" });
    await inWorld(actor, async (world) => {
      expect(await world.ok(["snapshots", "list"])).toBe("no snapshots; agentkernel snapshot NAME makes one\n");
      await world.ok(["create", "--no-network", "--memory", "300m", "--dir", project.path, "box"]);
      await world.ok(["exec", "box", "sh", "-c", "echo root > /opt/x; echo changed > a.txt"]);
      await world.ok(["stop", "box"]);
      expect(await world.ok(["snapshot", "--name", "before", "box"])).toBe("before\n");
      const [shown] = JSON.parse(await world.ok(["snapshots", "list", "--json"])).data;
      expect(shown).toMatchObject({
        name: "before",
        sandbox: { name: "box" },
        backend: "linux",
        project: project.path,
        memory: false,
      });
      expect(shown.size_bytes).toBeGreaterThan(0);
      expect(await world.ok(["snapshots", "list"])).toMatch(/^NAME +SANDBOX +BACKEND .*\nbefore +box +linux /);
      await world.ok(["exec", "box", "sh", "-c", "echo later > /opt/x"]);
      await world.ok(["remove", "--force", "box"]);

      expect(await world.ok(["names", "--snapshots"])).toBe("before\n");
      expect(await world.ok(["restore", "before", "second"])).toBe("second\n");
      expect(await world.ok(["restore", "--start", "before", "third"])).toBe("third\n");
      expect(await world.states()).toEqual({ second: "created", third: "running" });
      expect(await names(world)).toEqual(["before"]);
      const script = "hostname; cat /opt/x a.txt";
      expect((await world.ak(["exec", "second", "sh", "-c", script])).stdout).toBe("second\nroot\nchanged\n");
      expect(await world.ok(["diff", "--name-only", "third"])).toBe("a.txt\n");
      const { data } = JSON.parse(await world.ok(["info", "--json", "third"]));
      expect(data.policy.resources.memoryMiB).toBe(300);

      expect(await world.ok(["snapshots", "remove", "before"])).toBe("before\n");
      expect(await names(world)).toEqual([]);
      expect(readdirSync(join(world.folder(""), "../snapshots"))).toEqual([]);
      expect(await world.ok(["exec", "third", "cat", "/opt/x"])).toBe("root\n");
      const records = await world.ok(["audit", "list", "--type", "snapshot"]);
      expect(records).toMatch(/snapshot\.start.*before\n.*snapshot\.create.*before\n.*snapshot\.remove.*before\n/);
      expect(await world.ok(["audit", "list", "--type", "sandbox.create"])).toMatch(
        /third.*a copy of the snapshot before/,
      );
    });
  });

  it("a copy publishes other ports than its original where that is asked for, and the same otherwise", async () => {
    await inWorld(actor, async (world) => {
      const ports = async (name: string) =>
        (await world.info(name)).ports.map(({ host_port, guest_port }) => [host_port, guest_port]);
      await world.started("box", ["--publish", "0:8000"]);
      const [[taken] = []] = await ports("box");
      await world.ok(["stop", "box"]);
      await world.ok(["snapshot", "--name", "kept", "box"]);
      await world.ok(["fork", "--start", "--publish", "0:9000", "--publish", "0:9001", "box", "other"]);
      const others = await ports("other");
      expect(others.map(([, inside]) => inside)).toEqual([9000, 9001]);
      expect(others.flat()).not.toContain(taken);
      await world.ok(["restore", "--start", "--publish", "none", "kept", "quiet"]);
      expect(await ports("quiet")).toEqual([]);
      await world.ok(["restore", "--start", "kept", "alike"]);
      expect((await ports("alike")).map(([, inside]) => inside)).toEqual([8000]);
      for (const wrong of [
        ["--publish", "none", "--publish", "0:80"],
        ["--publish", "80"],
      ]) {
        expect(await world.ak(["fork", ...wrong, "box", "never"])).toMatchObject({ status: 125 });
      }
      expect(Object.keys(await world.states()).sort()).toEqual(["alike", "box", "other", "quiet"]);
    });
  });

  it("a fork and its original share nothing from then on, and each can be removed", async () => {
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "--workspace", "none", "box"]);
      await world.ok(["exec", "box", "sh", "-c", "echo one > /opt/x"]);
      await world.ok(["stop", "box"]);
      expect(await world.ok(["fork", "--start", "box", "twin"])).toBe("twin\n");
      await world.ok(["exec", "twin", "sh", "-c", "echo twin > /opt/x"]);
      expect((await world.ak(["exec", "box", "cat", "/opt/x"])).stdout).toBe("one\n");
      await world.ok(["remove", "--force", "box"]);
      expect(await world.ok(["exec", "twin", "cat", "/opt/x"])).toBe("twin\n");
      expect(await names(world)).toEqual([]);
    });
  });

  it("one that runs is held still, goes on, and one that is paused stays so", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const { layers } = JSON.parse(await world.ok(["info", "--json", "box"])).data;
      const canPause = layers.some(
        ({ name, state }: { name: string; state: string }) => name === "freezer" && state === "applied",
      );
      if (!canPause) {
        await world.refuses(["snapshot", "box"], /cannot be held still/, /stop it first: agentkernel stop box/);
        expect(await world.states()).toEqual({ box: "running" });
        return;
      }
      await world.ok(["exec", "--detach", "box", "sh", "-c", "while :; do date >> /opt/log; sleep 0.01; done"]);
      const name = (await world.ok(["snapshot", "box"])).trim();
      expect(name).toMatch(/^box-\d{8}-\d{6}$/);
      expect(await world.states()).toEqual({ box: "running" });
      expect(existsSync(join(world.folder("box"), "held-still"))).toBe(false);
      const grows = "a=$(wc -c < /opt/log); until [ $(wc -c < /opt/log) -gt $a ]; do sleep 0.01; done; echo grew";
      expect(await world.ok(["exec", "box", "sh", "-c", grows])).toBe("grew\n");
      await world.ok(["pause", "box"]);
      await world.ok(["fork", "box", "twin"]);
      expect(await world.states()).toEqual({ box: "paused", twin: "created" });
      expect((await world.ak(["exec", "twin", "test", "-s", "/opt/log"])).status).toBe(0);
      await world.ok(["resume", "box"]);
    });
  });

  it("wrong names and what is not there are refused in words that help", async () => {
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "--workspace", "none", "box"]);
      await world.refuses(["snapshot", "nobody"], /there is no sandbox nobody/, /agentkernel list/);
      await world.refuses(["snapshot", "--name", "../up", "box"], /"\.\.\/up" cannot name a snapshot/, /lower-case/);
      await world.refuses(["restore", "nothing", "new"], /there is no snapshot nothing/, /snapshots list/);
      await world.refuses(["snapshots", "remove", "nothing"], /there is no snapshot nothing/, /snapshots list/);
      await world.refuses(["restore", "one"], /restore needs a snapshot/, /./);
      await world.ok(["snapshot", "--name", "s", "box"]);
      await world.refuses(["snapshot", "--name", "s", "box"], /there is a snapshot s already/, /another name/);
      await world.refuses(["restore", "s", "box"], /there is a sandbox box already/, /another name/);
      await world.refuses(["fork", "box", "box"], /there is a sandbox box already/, /another name/);
      expect(await world.ok(["restore", "s", "new"])).toBe("new\n");
    });
  });
});
