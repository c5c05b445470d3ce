/** Reads files that come with a project: what is no regular file, such as a pipe, must not hold a run up. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** At most so many bytes from its start. Links are followed. */
export function readRegularFile(path: string, mostBytes: number): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error("it is not a regular file");
    const bytes = Buffer.allocUnsafe(mostBytes);
    let length = 0;
    for (let got = -1; got !== 0 && length < mostBytes; length += got) {
      got = readSync(descriptor, bytes, length, mostBytes - length, null);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}
