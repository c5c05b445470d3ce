/** Our own writing to the standard streams. A reader that went away is no fault and is not reported. */
import { AgentKernelError } from "../core/errors.js";

/** Resolves to the exit status of a verb that did nothing but print. */
export async function writeOut(text: string): Promise<number> {
  const error = await write(process.stdout, text);
  if (error !== null && !isClosedPipe(error)) {
    const hint = "look where standard output leads: a full disk, or a closed file";
    throw new AgentKernelError("internal", `standard output cannot be written (${error.code})`, { hint, cause: error });
  }
  return 0;
}

/** How long our own words wait for a reader of stderr that has stopped reading. */
const STUCK_READER_MS = 1000;

/** Never rejects, and never waits for long: there is no place left to say that stderr cannot be written. */
export async function writeErr(text: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const stuck = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, STUCK_READER_MS);
  });
  await Promise.race([write(process.stderr, text), stuck]);
  clearTimeout(timer);
}

export async function writeJson(value: unknown): Promise<number> {
  return await writeOut(`${JSON.stringify(value)}\n`);
}

/** Node tells a failed write to the callback and also as an event, which without a listener ends the process. */
function write(stream: NodeJS.WriteStream, text: string): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const listen = (error: Error) => resolve(error);
    stream.once("error", listen);
    stream.write(text, (error) => {
      if (error) {
        resolve(error);
        return;
      }
      stream.off("error", listen);
      resolve(null);
    });
  });
}

function isClosedPipe(error: NodeJS.ErrnoException): boolean {
  return error.code === "EPIPE" || error.code === "ERR_STREAM_DESTROYED";
}
