/** Our own stdin into the command's, no faster than the command reads. */
import type { Buffer } from "node:buffer";
import { constants, createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { isatty } from "node:tty";
import type { GuestExec } from "../../guest/index.js";

const READ_BYTES = 65_536;

/** /dev/null, as `rdev` encodes it: character device 1, 3. */
const NULL_DEVICE = (1 << 8) | 3;

/** What there is to read, or null if there is nothing that could be. */
export function standardInput(): Readable | null {
  const stat = fstatSync(0);
  if (stat.isFIFO()) return new Socket({ fd: ownOpening() ?? 0, readable: true, writable: false });
  if (stat.isSocket()) return new Socket({ fd: 0, readable: true, writable: false });
  if (stat.isCharacterDevice()) {
    if (stat.rdev === NULL_DEVICE) return null;
    if (isatty(0)) return process.stdin;
  }
  if (stat.isDirectory()) return null;
  return createReadStream("", { fd: 0, autoClose: false, highWaterMark: READ_BYTES });
}

/** A pipe is opened once more, so that making it non-blocking is nobody else's business. */
function ownOpening(): number | null {
  try {
    return openSync("/proc/self/fd/0", constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
}

/** Pumps until either side ends. Returns how to stop early. */
export function pumpInput(input: Readable, exec: GuestExec): () => void {
  let isOver = false;
  const stop = () => {
    isOver = true;
    input.destroy();
  };
  input.on("data", (chunk: Buffer) => {
    if (!isOver && !exec.writeStdin(chunk)) input.pause();
  });
  exec.onDrain(() => {
    if (!isOver) input.resume();
  });
  const end = () => {
    if (!isOver) exec.endStdin();
    stop();
  };
  input.once("end", end);
  // A stdin that cannot be read is an empty one for the command, as with a local process that ignores the error.
  input.once("error", end);
  return stop;
}
