/** Makes a stream, or a compressed file, into a plain file that can be read from any place. It has no name on disk. */
import type { FileHandle } from "node:fs/promises";
import { AgentKernelError } from "../../core/errors.js";
import {
  compressionOf,
  defaultUnpackLimits,
  SIGNATURE_BYTES,
  type UnpackLimits,
  uncompressed,
} from "../archive/compression.js";
import type { ImageStore } from "../store/index.js";

/** A tar archive without compression. */
export interface OpenArchive {
  readonly file: FileHandle;
  readonly sizeBytes: number;
  /** Where the user named one. */
  readonly path?: string;
}

export async function spool(
  source: AsyncIterable<Buffer>,
  store: ImageStore,
  limits: UnpackLimits = defaultUnpackLimits,
  signal?: AbortSignal,
): Promise<OpenArchive> {
  const file = await store.scratchFile();
  try {
    let sizeBytes = 0;
    for await (const part of plain(source, limits)) {
      signal?.throwIfAborted();
      await file.writeFile(part).catch((error: unknown) => {
        throw store.writeFailure(error);
      });
      sizeBytes += part.length;
    }
    return { file, sizeBytes };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Without its compression, whichever it has. */
async function* plain(source: AsyncIterable<Buffer>, limits: UnpackLimits): AsyncGenerator<Buffer, void, void> {
  const parts = source[Symbol.asyncIterator]();
  const held: Buffer[] = [];
  let length = 0;
  while (length < SIGNATURE_BYTES) {
    const next = await parts.next();
    if (next.done === true) break;
    held.push(next.value);
    length += next.value.length;
  }
  const compression = compressionOf(Buffer.concat(held));
  if (compression === "xz" || compression === "bzip2") {
    await parts.return?.();
    throw new AgentKernelError("image_invalid", `the archive is compressed with ${compression}, which is not read`, {
      hint: `${compression} -dc FILE | agentkernel images import - NAME`,
    });
  }
  const whole = async function* (): AsyncGenerator<Buffer, void, void> {
    yield* held;
    yield* { [Symbol.asyncIterator]: () => parts };
  };
  yield* uncompressed(whole(), compression, limits);
}
