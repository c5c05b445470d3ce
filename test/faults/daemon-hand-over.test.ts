/** A daemon that dies while it makes room for another: sandboxes that stay are never lost, and never owned twice. */
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { caller, endsDaemons, statusOf } from "../support/on-demand.js";
import { killNow, spinMs } from "../support/process-tree.js";
import { runCli } from "../support/run-cli.js";
import { WatchedCli } from "../support/watched-cli.js";

function stateFolder(actor: Actor): string {
  const folder = actor.folder("kept");
  chmodSync(folder, 0o700);
  return folder;
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();
  endsDaemons();

  it("whichever of the two is killed, at whatever step, the next one takes over", async () => {
    const client = caller(actor);
    const folder = stateFolder(actor);
    expect((await runCli(client, ["own", folder])).stdout).toMatch(/^started by/);
    const supervisor = readFileSync(join(folder, "lock"), "utf8");
    for (const delayMs of [0, 20, 40, 80, 120, 160]) {
      const { pid } = await statusOf(client);
      const reload = new WatchedCli(client, ["daemon", "reload"]);
      spinMs(delayMs);
      killNow(pid);
      killNow(reload.pid);
      await reload.end;
      expect((await runCli(client, ["own", folder])).stdout).toMatch(/^adopted by/);
      expect(readFileSync(join(folder, "lock"), "utf8")).toBe(supervisor);
    }
    expect((await runCli(client, ["daemon", "stop", "--all"])).stdout).toContain("and 1 sandbox with it");
    rmSync(folder, { recursive: true });
  });
});
