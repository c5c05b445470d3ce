/** The folders that agentkernel makes for a user, outside its own installation. */
import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { cacheFolder, dataFolder, type HostEnvironment, stateFolder } from "../core/state-folders.js";

export interface KeptFolder {
  readonly path: string;
  readonly holds: string;
}

/** Those that are there. `socketFolder`: where the daemon is met. */
export function keptFolders(env: HostEnvironment, homeDir: string, socketFolder: string): readonly KeptFolder[] {
  const { XDG_CONFIG_HOME: configured = "" } = env;
  const config = join(isAbsolute(configured) ? configured : join(homeDir, ".config"), "agentkernel");
  const state = stateFolder(env, homeDir);
  const all = [
    { path: state, holds: "sandboxes that stay, the audit log, API keys, the daemon's log" },
    { path: dataFolder(env, homeDir), holds: "images, kernels for virtual machines" },
    { path: cacheFolder(env, homeDir), holds: "compiled WebAssembly modules, saved virtual machines" },
    { path: config, holds: "settings" },
    ...(socketFolder.startsWith(`${state}/`) ? [] : [{ path: socketFolder, holds: "the daemon's socket" }]),
  ];
  return all.filter(({ path }) => existsSync(path));
}
