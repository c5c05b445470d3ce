/** One run of the native maker of disks, which reads what a hostile image unpacked to in a jail of its own. */
import { askUnpacker, wasKilled } from "./unpacker-process.js";

interface DiskOrder {
  readonly target: string;
  /** The uppermost first. */
  readonly layers: readonly string[];
  readonly maxBytes: number;
}

/** The disk is `root.erofs` in the target. */
export async function makeDisk(order: DiskOrder, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const job = { verb: "disk", order, killed: "the maker of disks was killed while it read the image" } as const;
  const { event } = await askUnpacker(job, signal);
  if (event !== "done") throw wasKilled(job);
}
