/** A layer must be compressed the way that its media type says: one reader goes by the one, another by the other. */
import { AgentKernelError } from "../core/errors.js";
import { compressionOf } from "./archive/compression.js";
import { type Digest, shortDigest } from "./digest.js";
import type { LayerCompression } from "./media-types.js";

export function checkLayerKind(stated: LayerCompression, first: Buffer, digest: Digest): void {
  const found = compressionOf(first);
  if (found === stated) return;
  const words = { none: "a plain archive", gzip: "gzip", zstd: "zstd", xz: "xz", bzip2: "bzip2" } as const;
  throw new AgentKernelError(
    "image_invalid",
    `layer ${shortDigest(digest)}… is ${words[found]}, and its media type says ${words[stated]}`,
    { hint: "whoever made the image must make it again" },
  );
}
