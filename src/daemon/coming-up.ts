/** A daemon that another process has just started: it owns the place and does not listen yet. */
import { readdirSync, watch } from "node:fs";
import { join } from "node:path";
import { holderState, processMark } from "../core/process-mark.js";
import { isFileError } from "./file-error.js";
import type { DaemonPlace } from "./socket-place.js";

/** Nothing tells of a process that is killed, so it is looked at from time to time. */
const LOOK_MS = 100;

/** Whether a living process owns the place. */
export function hasOwner({ folder }: Pick<DaemonPlace, "folder">): boolean {
  try {
    const [entry] = readdirSync(join(folder, "owner"));
    if (entry === undefined || entry === "free") return false;
    return holderState(entry, processMark()) !== "dead";
  } catch (error) {
    if (isFileError(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

/** Resolves when its socket appears, when it gives up or dies, or after so long; whoever waits looks again. */
export async function ownerChange(place: DaemonPlace, timeoutMs: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const watcher = watch(place.folder, { persistent: true });
    const done = (settle: () => void) => {
      watcher.close();
      clearInterval(looking);
      clearTimeout(late);
      settle();
    };
    const looking = setInterval(() => {
      if (!hasOwner(place)) done(resolve);
    }, LOOK_MS);
    const late = setTimeout(() => done(resolve), timeoutMs);
    watcher.on("change", (_, name) => {
      if (String(name) === place.socketName) done(resolve);
    });
    watcher.on("error", (error) => done(() => reject(error)));
    // It may have appeared before it was watched for.
    if (readdirSync(place.folder).includes(place.socketName) || !hasOwner(place)) done(resolve);
  });
}
