/**
 * Reads a known number of bytes, or a head, from the start of a stream, and leaves the rest in it. For the short
 * talk before a tunnel: bounded in size by the caller and in time by the signal.
 */
import { Buffer } from "node:buffer";
import type { Readable } from "node:stream";
import { EgressFailure } from "./failure.js";

/** Resolves once `take` finds the end of what it wants in the bytes so far: a count, or -1 for not yet. */
export function readUntil(
  stream: Readable,
  take: (bytes: Buffer) => number,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);
    const settle = () => {
      stream.off("readable", read);
      stream.off("end", ended);
      stream.off("close", ended);
      stream.off("error", fail);
      signal.removeEventListener("abort", abort);
    };
    const fail = (error: unknown) => {
      settle();
      reject(error);
    };
    const ended = () => fail(new EgressFailure("failed", "the connection ended in the middle of its greeting"));
    const abort = () => fail(signal.reason);
    const read = () => {
      for (let chunk: Buffer | null = stream.read(); chunk !== null; chunk = stream.read()) {
        bytes = Buffer.concat([bytes, chunk]);
        const end = take(bytes);
        if (end < 0 && bytes.length <= maxBytes) continue;
        if (end < 0 || end > maxBytes) return fail(new EgressFailure("failed", "the greeting is too long"));
        settle();
        if (end < bytes.length) stream.unshift(bytes.subarray(end));
        return resolve(bytes.subarray(0, end));
      }
    };
    if (signal.aborted) return abort();
    if (stream.readableEnded || stream.destroyed) return ended();
    signal.addEventListener("abort", abort, { once: true });
    stream.on("readable", read);
    stream.once("end", ended);
    stream.once("close", ended);
    stream.once("error", fail);
    read();
  });
}

export function readExactly(stream: Readable, count: number, signal: AbortSignal): Promise<Buffer> {
  return readUntil(stream, (bytes) => (bytes.length >= count ? count : -1), Math.max(count, 1) + 65_536, signal);
}
