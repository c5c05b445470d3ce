/** Our own writing to the standard streams. A reader that went away is no fault and is not reported. */
import type { Invocation } from "../invocation/index.js";
import { unwritable } from "../invocation/unwritable.js";

/** Where our own words go. */
export type Printer = Pick<Invocation, "stdout" | "stderr">;

/** Resolves to the exit status of a verb that did nothing but print. */
export async function writeOut({ stdout }: Printer, text: string): Promise<number> {
  const error = await stdout.write(text);
  if (error !== null && !isClosedPipe(error)) throw unwritable(1, error.code, error);
  return 0;
}

/** How long our own words wait for a reader of stderr that has stopped reading. */
const STUCK_READER_MS = 1000;

/** Never rejects, and never waits for long: there is no place left to say that stderr cannot be written. */
export async function writeErr({ stderr }: Printer, text: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const stuck = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, STUCK_READER_MS);
  });
  await Promise.race([stderr.write(text), stuck]);
  clearTimeout(timer);
}

export async function writeJson(printer: Printer, value: unknown): Promise<number> {
  return await writeOut(printer, `${JSON.stringify(value)}\n`);
}

function isClosedPipe(error: NodeJS.ErrnoException): boolean {
  return error.code === "EPIPE" || error.code === "ERR_STREAM_DESTROYED";
}
