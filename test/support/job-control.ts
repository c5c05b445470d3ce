/**
 * A parent with job control around a program: a process group that nobody looks after is never stopped by Ctrl-Z. No
 * shell, since those have something to say of a job that is stopped, or go on without it.
 */
import { type Actor, programOf } from "./actors.js";

const SCRIPT = `
import os, sys
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.execvp(sys.argv[1], sys.argv[1:])
print("client", pid, flush=True)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) & 0xff)
`;

/** Says `client PID` first, and ends with the program. */
export function underJobControl(actor: Actor): Actor {
  return { ...actor, program: ["python3", "-c", SCRIPT, ...programOf(actor)] };
}
