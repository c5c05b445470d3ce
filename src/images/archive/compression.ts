/** How bytes are compressed, by what they begin with, and what they are without. Never more comes out than allowed. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import type { LayerCompression } from "../media-types.js";

/** `xz`, `bzip2`: recognised, so that they can be named, and not read. */
type Compression = LayerCompression | "xz" | "bzip2";

const signatures: readonly (readonly [Compression, readonly number[]])[] = [
  ["gzip", [0x1f, 0x8b]],
  ["zstd", [0x28, 0xb5, 0x2f, 0xfd]],
  ["xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]],
  ["bzip2", [0x42, 0x5a, 0x68]],
];

/** Enough of the first bytes to tell. */
export const SIGNATURE_BYTES = 6;

export function compressionOf(first: Buffer): Compression {
  // Also zstd: a frame that readers skip, as some writers put one first.
  if (first.length >= 4 && (first.readUInt32LE(0) & 0xfffffff0) >>> 0 === 0x184d2a50) return "zstd";
  return signatures.find(([, bytes]) => bytes.every((byte, at) => first[at] === byte))?.[0] ?? "none";
}

export interface UnpackLimits {
  readonly maxBytes: number;
  /** Beyond `freeBytes`, what comes out may be at most so many times what went in. */
  readonly maxRatio: number;
  readonly freeBytes: number;
}

export const defaultUnpackLimits: UnpackLimits = {
  maxBytes: 64 * 1024 ** 3,
  maxRatio: 250,
  freeBytes: 4 * 1024 ** 3,
};

/** The bytes without their compression. */
export async function* uncompressed(
  source: AsyncIterable<Buffer>,
  compression: LayerCompression,
  limits: UnpackLimits = defaultUnpackLimits,
): AsyncGenerator<Buffer, void, void> {
  let taken = 0;
  let given = 0;
  const counted = async function* (): AsyncGenerator<Buffer, void, void> {
    for await (const chunk of source) {
      taken += chunk.length;
      yield chunk;
    }
  };
  for await (const chunk of await decoded(counted(), compression)) {
    given += chunk.length;
    if (given > limits.maxBytes || (given > limits.freeBytes && given > taken * limits.maxRatio)) {
      throw new AgentKernelError("image_invalid", `a part of the image unpacks to more than ${given} bytes`, {
        hint: "it looks like a decompression bomb; nothing of it was used",
      });
    }
    yield chunk;
  }
}

async function decoded(source: AsyncIterable<Buffer>, compression: LayerCompression): Promise<AsyncIterable<Buffer>> {
  if (compression === "none") return source;
  if (compression === "gzip") return gunzipped(source);
  const { unzstd } = await import("./zstd.js");
  return readable(unzstd(source), "zstd");
}

async function* gunzipped(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  // Its failure reaches the reader through the stream itself.
  const feeding = pipeline(Readable.from(source), gunzip).catch(() => {});
  try {
    yield* readable(gunzip, "gzip");
  } finally {
    gunzip.destroy();
    await feeding;
  }
}

async function* readable(source: AsyncIterable<Buffer>, kind: string): AsyncGenerator<Buffer, void, void> {
  try {
    yield* source;
  } catch (error) {
    if (isAgentKernelError(error)) throw error;
    throw new AgentKernelError("image_invalid", `a part of the image is not the ${kind} that it is meant to be`, {
      hint: "it is damaged, or was cut short",
      cause: error,
    });
  }
}
