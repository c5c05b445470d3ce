/** Containers whose owner is gone. The engine removes what ends by itself; these never began, or their engine died. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { EngineClient } from "./client.js";
import { Container, textField } from "./container.js";
import { hasLostOwner, type Labels, labels, userLabel } from "./labels.js";

interface FoundContainer {
  readonly id: string;
  readonly labels: Labels;
}

/** All of this user's containers of ours, running or not. */
export async function ownContainers(client: EngineClient): Promise<readonly FoundContainer[]> {
  const filters = JSON.stringify({ label: [labels.kind, `${labels.user}=${userLabel()}`] });
  const found = await client.get("/containers/json", { query: { all: "1", filters } });
  const list: readonly unknown[] = Array.isArray(found) ? found : [];
  return list.map((one) => {
    const known: unknown = typeof one === "object" && one !== null ? Reflect.get(one, "Labels") : null;
    return { id: textField(one, "Id"), labels: (known ?? {}) as Labels };
  });
}

/** Of this process, whose engine went away before they could be ended. It may come back with them. */
const abandoned = new Set<string>();

export function abandon(id: string): void {
  abandoned.add(id);
}

export function hasAbandoned(): boolean {
  return abandoned.size > 0;
}

/** The ids of those that were removed. */
export async function sweepOrphans(client: EngineClient): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const { id, labels: found } of await ownContainers(client)) {
    if (!isOrphan(found) && !abandoned.has(id)) continue;
    await new Container(client, id).remove();
    abandoned.delete(id);
    removed.push(id);
  }
  return removed;
}

function isOrphan(found: Labels): boolean {
  if (found[labels.kind] !== "kept") return hasLostOwner(found);
  const stateDir = found[labels.state];
  // Where the folder of all sandboxes is not there either, it may only be out of sight.
  return stateDir !== undefined && !existsSync(stateDir) && existsSync(dirname(dirname(stateDir)));
}
