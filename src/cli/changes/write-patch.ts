/** A patch on its way to whoever reads it: as it is into a file or a pipe, made harmless on a terminal. */
import { pipeline } from "node:stream/promises";
import type { StandardOutput } from "../../invocation/index.js";
import { forTerminal } from "./terminal-patch.js";

const READER_GONE = ["EPIPE", "ERR_STREAM_DESTROYED", "ERR_STREAM_PREMATURE_CLOSE"];

export async function writePatch(patch: AsyncIterable<Buffer>, stdout: StandardOutput): Promise<void> {
  try {
    await pipeline(stdout.isTerminal ? forTerminal(patch) : patch, stdout.stream());
  } catch (error) {
    // A reader that has seen enough is no fault.
    if (!READER_GONE.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
