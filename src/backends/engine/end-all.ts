/**
 * The kill switch, on an engine: every container of ours that works for one state directory, or for this user, ends at
 * once. Kept ones keep their disk.
 */
import { dirname } from "node:path";
import type { EngineClient } from "./client.js";
import { Container } from "./container.js";
import { type Labels, labels } from "./labels.js";
import { ownContainers } from "./sweep.js";

/** Folders of one state directory. */
interface EngineScope {
  /** The label of containers for runs. */
  readonly folder: string;
  /** Of all kept sandboxes. */
  readonly sandboxes: string;
}

/** How many ran. `scope` null: all of this user. */
export async function endAllContainers(client: EngineClient, scope: EngineScope | null): Promise<number> {
  const own = await ownContainers(client);
  const found = own.filter((one) => scope === null || isWithin(one.labels, scope));
  const ended = await Promise.all(
    found.map(async ({ id, labels: { [labels.kind]: kind } }) => {
      const container = new Container(client, id);
      const state = await container.inspect();
      if (state?.isPaused === true) await container.resume();
      if (state?.isRunning === true) await container.kill();
      if (kind !== "kept") await container.remove();
      return state?.isRunning === true && kind !== "warm";
    }),
  );
  return ended.filter(Boolean).length;
}

function isWithin(found: Labels, { folder, sandboxes }: EngineScope): boolean {
  if (found[labels.kind] !== "kept") return found[labels.folder] === folder;
  const stateDir = found[labels.state];
  return stateDir !== undefined && dirname(dirname(stateDir)) === sandboxes;
}
