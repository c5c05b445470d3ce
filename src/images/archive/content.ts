/** Bytes that can be read more than once and from any place: a file, or a stretch of one. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { type Digest, digestFromHex } from "../digest.js";
import { isCode } from "../store/layout.js";

export interface Content {
  readonly sizeBytes: number;
  /** From a byte to the end. */
  read(fromByte: number): AsyncIterable<Buffer>;
}

/** Named contents of an image's source. A name is only ever looked up, and never becomes a path that is written. */
export interface ImageFiles {
  find(name: string): Promise<Content | null>;
}

const CHUNK_BYTES = 1024 * 1024;

/** A stretch of a file that stays open elsewhere. */
export function stretchOf(file: FileHandle, start: number, sizeBytes: number): Content {
  return {
    sizeBytes,
    async *read(fromByte) {
      let at = fromByte;
      while (at < sizeBytes) {
        const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, sizeBytes - at));
        const { bytesRead } = await file.read(buffer, 0, buffer.length, start + at);
        if (bytesRead === 0) throw cutShort();
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    },
  };
}

/** A plain file; null where there is none. Links are not followed, and a pipe or a device is no file. */
export async function fileContent(path: string): Promise<Content | null> {
  const file = await openPlain(path);
  if (file === null) return null;
  const { size } = await file.stat();
  await file.close();
  return {
    sizeBytes: size,
    async *read(fromByte) {
      const again = await openPlain(path);
      if (again === null) throw cutShort();
      try {
        yield* stretchOf(again, 0, size).read(fromByte);
      } finally {
        await again.close();
      }
    },
  };
}

async function openPlain(path: string): Promise<FileHandle | null> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"].some((code) => isCode(error, code))) return null;
    const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    throw new AgentKernelError("not_found", `${escapeText(path)} cannot be read${code}`, {
      hint: "whoever reads an image must be allowed to read all of it",
      cause: error,
    });
  }
  if ((await file.stat()).isFile()) return file;
  await file.close();
  return null;
}

/** All of it; null where it is larger than allowed. */
export async function readAll({ sizeBytes, read }: Content, maxBytes: number): Promise<Buffer | null> {
  if (sizeBytes > maxBytes) return null;
  const parts: Buffer[] = [];
  for await (const part of read(0)) parts.push(part);
  return Buffer.concat(parts);
}

export async function hashOf({ read }: Content): Promise<Digest> {
  const hash = createHash("sha256");
  for await (const part of read(0)) hash.update(part);
  return digestFromHex(hash.digest("hex"));
}

/** Its first bytes, fewer where it has fewer. */
export async function firstBytes({ read }: Content, count: number): Promise<Buffer> {
  for await (const part of read(0)) return part.subarray(0, count);
  return Buffer.alloc(0);
}

function cutShort(): AgentKernelError {
  return new AgentKernelError("image_invalid", "the archive ends in the middle, or changed while it was read");
}
