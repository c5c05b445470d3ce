/** Where a user's daemon is met. The same rule is in native/client/src/daemon_socket.rs. */
import { statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { daemonStateFolder, type HostEnvironment, stateFolder } from "../core/state-folders.js";

export interface DaemonPlace {
  /** Only its owner can enter it. */
  readonly folder: string;
  readonly socketName: string;
  readonly socketPath: string;
  readonly logPath: string;
}

const SOCKET_NAME = "daemon.sock";

export function daemonPlace(env: HostEnvironment, homeDir: string): DaemonPlace {
  const { XDG_RUNTIME_DIR: runtime } = env;
  const folder =
    runtime !== undefined && isAbsolute(runtime) && isOwnFolder(runtime)
      ? join(runtime, "agentkernel")
      : daemonStateFolder(env, homeDir);
  return {
    folder,
    socketName: SOCKET_NAME,
    socketPath: join(folder, SOCKET_NAME),
    logPath: join(stateFolder(env, homeDir), "daemon.log"),
  };
}

/** Under sudo the variable may still name the folder of the user before. */
function isOwnFolder(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.geteuid?.();
}
