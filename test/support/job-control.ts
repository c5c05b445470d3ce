/** A shell with job control around a program: a process group that nobody looks after is never stopped by Ctrl-Z. */
import { type Actor, programOf } from "./actors.js";

// Its own way to wait for a job that is stopped (`wait -f`) says so over and over, faster than anybody reads.
const UNTIL_IT_IS_OVER = "while kill -0 $! 2>/dev/null; do sleep 0.05; done; wait $!";

/** Says `client PID` first. */
export function underJobControl(actor: Actor): Actor {
  const script = `set -m; "$0" "$@" & echo client $!; ${UNTIL_IT_IS_OVER}`;
  return { ...actor, program: ["/bin/bash", "-c", script, ...programOf(actor)] };
}
