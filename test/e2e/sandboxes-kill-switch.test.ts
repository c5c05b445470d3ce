/** `stop --all`: every sandbox ends, whoever owns it and whether or not that one still answers. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { killNow } from "../support/process-tree.js";
import { inWorld, type SandboxWorld } from "../support/sandbox-world.js";
import { WatchedCli } from "../support/watched-cli.js";

const bare = ["--no-network", "--workspace", "none"];

/** It has a process of its own, so this client needs a Node. */
function stopAll(world: SandboxWorld) {
  return world.ak(["stop", "--all", "--json"], { env: { AGENTKERNEL_NODE: process.execPath } });
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("ends kept ones, runs through the daemon and runs without one", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      await world.started("still");
      await world.ak(["pause", "still"]);
      await world.ok(["create", ...bare, "idle"]);
      // Nothing is built ahead, so that what ends can be counted.
      const config = actor.folder("config");
      mkdirSync(join(config, "agentkernel"));
      writeFileSync(join(config, "agentkernel", "config.toml"), "[daemon]\nmax_warm = 0\n");
      const served = world.watch(["run", ...bare, "sh", "-c", "trap '' TERM INT; echo up; while :; do sleep 1; done"], {
        env: { XDG_CONFIG_HOME: config },
      });
      const alone = new WatchedCli(
        actor,
        ["run", ...bare, "sh", "-c", "trap '' TERM INT; echo up; while :; do sleep 1; done"],
        { env: { XDG_STATE_HOME: world.state } },
      );
      await Promise.all([served.until(/up/), alone.until(/up/)]);
      expect(JSON.parse((await stopAll(world)).stdout)).toEqual({ success: true, data: { ended: 4 } });
      expect((await served.end).status).toBe(125);
      expect((await alone.end).status).toBe(125);
      await expect.poll(() => world.states()).toEqual({ box: "stopped", still: "stopped", idle: "created" });
      expect(JSON.parse((await stopAll(world)).stdout).data).toEqual({ ended: 0 });
    });
  });

  it("needs no daemon, and none that answers", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      process.kill(world.daemon.pid, "SIGSTOP");
      expect(JSON.parse((await stopAll(world)).stdout).data).toEqual({ ended: 1 });
      process.kill(world.daemon.pid, "SIGCONT");
      await expect.poll(() => world.states()).toEqual({ box: "stopped" });
      await world.ok(["start", "box"]);
      await world.crash();
      expect(JSON.parse((await stopAll(world)).stdout).data).toEqual({ ended: 1 });
      await world.up();
      expect(await world.states()).toEqual({ box: "stopped" });
    });
  });

  it("ends one whose supervisor does not answer either", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      process.kill(world.supervisor("box"), "SIGSTOP");
      expect(JSON.parse((await stopAll(world)).stdout).data).toEqual({ ended: 1 });
      await expect.poll(() => world.states()).toEqual({ box: "stopped" });
      expect(killNow(world.daemon.pid, "SIGCONT")).toBe(true);
    });
  });
});
