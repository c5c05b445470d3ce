/** A9: `stop --all` ends the sandboxes of its own state directory; those of another one go on. */
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { inWorld } from "../../support/sandbox-world.js";
import { WatchedCli } from "../../support/watched-cli.js";

/** It has a process of its own, so this client needs a Node. */
const apart = { env: { AGENTKERNEL_NODE: process.execPath } };

/** A run without a daemon that works for this state directory and goes on until its input ends. */
async function run(actor: Actor, stateHome: string): Promise<WatchedCli> {
  const words = ["run", "--no-network", "--workspace", "none", "sh", "-c", "echo up; cat; echo went on"];
  const started = new WatchedCli(actor, words, { env: { XDG_STATE_HOME: stateHome } });
  await started.until(/up/);
  return started;
}

describe.each(actors)("A9 as $name, stop --all", (actor) => {
  leavesNothingBehind();

  it("leaves sandboxes of another state directory alone, on a daemon and without one", async () => {
    await inWorld(actor, async (world) => {
      await inWorld(actor, async (other) => {
        await world.started("box");
        await other.started("box");
        const theirs = await run(actor, other.state);
        const ours = await run(actor, world.state);
        expect(JSON.parse(await world.ok(["stop", "--all", "--json"], apart)).data).toEqual({ ended: 2 });
        expect((await ours.end).status).toBe(125);
        await expect.poll(() => world.states()).toEqual({ box: "stopped" });
        expect(await other.states()).toEqual({ box: "running" });
        expect(await other.ok(["exec", "box", "echo", "still here"])).toBe("still here\n");
        theirs.child.stdin?.end();
        expect(await theirs.end).toMatchObject({ status: 0, stdout: expect.stringMatching(/went on/) });
      });
    });
  });

  it("ends those of every state directory where that is asked for", async () => {
    await inWorld(actor, async (world) => {
      await world.started("box");
      const elsewhere = await run(actor, actor.ownFolder("state"));
      expect(JSON.parse(await world.ok(["stop", "--all-of-user", "--json"], apart)).data).toEqual({ ended: 2 });
      expect((await elsewhere.end).status).toBe(125);
      await expect.poll(() => world.states()).toEqual({ box: "stopped" });
    });
  });
});
