/** Stdin into the command's, no faster than the command reads. */
import type { Buffer } from "node:buffer";
import type { Readable } from "node:stream";
import type { GuestExec } from "../../guest/index.js";

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
  // It may have been opened long before there was a command.
  if (input.readableEnded || input.destroyed) end();
  return stop;
}
