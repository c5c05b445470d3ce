/** Stdin into the command's, no faster than the command reads. */
import type { Buffer } from "node:buffer";
import type { Readable } from "node:stream";
import type { GuestExec } from "../../guest/index.js";

/** Pumps until either side ends, and then lets the command know. Returns how to stop early, that too. */
export function pumpInput(input: Readable, exec: GuestExec, tellEnd: (exec: GuestExec) => () => void): () => void {
  let isOver = false;
  let stopTelling = () => {};
  const stop = () => {
    isOver = true;
    stopTelling();
    input.destroy();
  };
  input.on("data", (chunk: Buffer) => {
    if (!isOver && !exec.writeStdin(chunk)) input.pause();
  });
  exec.onDrain(() => {
    if (!isOver) input.resume();
  });
  const end = () => {
    if (isOver) return;
    stop();
    stopTelling = tellEnd(exec);
  };
  input.once("end", end);
  // A stdin that cannot be read is an empty one for the command, as with a local process that ignores the error.
  input.once("error", end);
  // It may have been opened long before there was a command.
  if (input.readableEnded || input.destroyed) end();
  return stop;
}
