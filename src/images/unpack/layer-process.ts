/** One run of the native unpacker, which reads the hostile archive in a jail of its own. */
import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";
import { AgentKernelError } from "../../core/errors.js";
import type { LayerCompression } from "../media-types.js";
import { askUnpacker, wasKilled } from "./unpacker-process.js";

interface LayerOrder {
  readonly target: string;
  /** The uppermost first. */
  readonly below: readonly string[];
  readonly compression: LayerCompression;
  readonly diffId: string;
  readonly maxBytes: number;
  readonly maxEntries: number;
  /** Makes everything on the store's filesystem survive a power cut before it answers. */
  readonly sync: boolean;
}

interface LayerSummary {
  readonly entries: number;
  readonly bytes: number;
  readonly devicesSkipped: number;
}

export async function unpackLayer(blobPath: string, order: LayerOrder, signal?: AbortSignal): Promise<LayerSummary> {
  signal?.throwIfAborted();
  const blob = await open(blobPath, "r").catch((cause: unknown) => {
    throw new AgentKernelError("image_unavailable", "a layer of the image is not in the store any more", {
      hint: "pull the image again",
      cause,
    });
  });
  try {
    return await run(blob, order, signal);
  } finally {
    await blob.close();
  }
}

async function run(blob: FileHandle, order: LayerOrder, signal: AbortSignal | undefined): Promise<LayerSummary> {
  const killed = "the unpacker was killed while it read a layer";
  const job = { verb: "layer", order, input: blob.fd, killed } as const;
  const { entries, bytes, devicesSkipped } = await askUnpacker(job, signal);
  if (typeof entries !== "number" || typeof bytes !== "number" || typeof devicesSkipped !== "number") {
    throw wasKilled(job);
  }
  return { entries, bytes, devicesSkipped };
}
