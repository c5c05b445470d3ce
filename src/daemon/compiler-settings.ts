/**
 * When V8 compiles a function for speed. By default that is after some 120 runs, for nearly everything at once, on a
 * thread beside the sandboxes of its callers: half a millisecond for each of the first thousand runs. Four times as
 * late, only what is really hot is compiled: in all a daemon has won by that after 1,500 runs. After 2,500 each run costs it
 * 0.15 ms more, a fiftieth of what all processes of a run take.
 */
import { setFlagsFromString } from "node:v8";

/** In bytes of its own code that a function has run through. */
const INTERRUPT_BUDGET = 270_000;

/** For the process around it, from now on. */
export function compileLater(): void {
  setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`);
}
