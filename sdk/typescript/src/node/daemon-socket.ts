/** Where the user's daemon listens: in the folder for such things that ends with the session, or with agentkernel's state. */
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Null where there is no daemon's socket. */
export function daemonSocket(env: NodeJS.ProcessEnv): string | null {
  const path = join(daemonFolder(env), "daemon.sock");
  return statSync(path, { throwIfNoEntry: false })?.isSocket() === true ? path : null;
}

function daemonFolder({ XDG_RUNTIME_DIR: runtime, XDG_STATE_HOME: state }: NodeJS.ProcessEnv): string {
  if (runtime !== undefined && isAbsolute(runtime) && isOwnFolder(runtime)) return join(runtime, "agentkernel");
  const base = state !== undefined && isAbsolute(state) ? state : join(homedir(), ".local/state");
  return join(base, "agentkernel", "daemon");
}

/** Under sudo the variable may still name the folder of the user before. */
function isOwnFolder(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.geteuid?.();
}
