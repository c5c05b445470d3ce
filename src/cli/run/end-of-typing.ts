/**
 * The end of input that is no terminal's, for a command that has a terminal. A terminal has no lasting end: the key
 * Ctrl-D ends one read, and one that is pressed before the command has set its terminal up is lost. So it is pressed
 * again, less and less often, until the command ends.
 */
import { Buffer } from "node:buffer";
import type { GuestExec } from "../../guest/index.js";

const CTRL_D = Buffer.from([4]);
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 3200;

/** Returns how to stop. */
export function endTyping(exec: Pick<GuestExec, "writeStdin">): () => void {
  let timer: NodeJS.Timeout | undefined;
  const press = (waitMs: number) => {
    exec.writeStdin(CTRL_D);
    timer = setTimeout(() => press(Math.min(waitMs * 2, LONGEST_WAIT_MS)), waitMs);
  };
  press(FIRST_WAIT_MS);
  return () => clearTimeout(timer);
}
