/** Where what must survive a restart is kept: the audit log and journals. By the rules for XDG folders; pure. */
import { isAbsolute, join } from "node:path";

export type HostEnvironment = Readonly<Record<string, string | undefined>>;

/** A value that is not absolute is to be ignored, by the specification of these variables. */
export function stateFolder(env: HostEnvironment, homeDir: string): string {
  const { XDG_STATE_HOME: named = "" } = env;
  return join(isAbsolute(named) ? named : join(homeDir, ".local", "state"), "agentkernel");
}

export function auditFolder(env: HostEnvironment, homeDir: string): string {
  return join(stateFolder(env, homeDir), "audit");
}

export function journalFolder(env: HostEnvironment, homeDir: string): string {
  return join(stateFolder(env, homeDir), "journal");
}
