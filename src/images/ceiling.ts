/** How much room images may take, and making room after one has come in. */
import type { Cleared, ImageRecord, ImageStore } from "./store/index.js";

/** Where nobody says otherwise. */
export const DEFAULT_CEILING_BYTES = 20 * 1024 ** 3;

/** Drops what nothing needs and, above the ceiling, what was not used for longest; never the one that just came in. */
export function makeRoom(store: ImageStore, newest: ImageRecord, ceilingBytes: number): Promise<Cleared> {
  return store.clear({ ceilingBytes, inUse: new Set([newest.manifestDigest, newest.digest]) });
}
