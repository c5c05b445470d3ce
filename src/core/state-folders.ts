/** Where agentkernel keeps its own files, by the rules for XDG folders. Pure: nothing is made or looked at here. */
import { isAbsolute } from "node:path";
import { joinedPath } from "./joined-path.js";

export type HostEnvironment = Readonly<Record<string, string | undefined>>;

/** Data that can only be had again from others: images. */
export function dataFolder({ XDG_DATA_HOME: named }: HostEnvironment, homeDir: string): string {
  return ownFolder(named, homeDir, ".local/share");
}

/** Data that must survive a restart: the audit log and journals. */
export function stateFolder({ XDG_STATE_HOME: named }: HostEnvironment, homeDir: string): string {
  return ownFolder(named, homeDir, ".local/state");
}

/** Data that is made again where it is missing. */
export function cacheFolder({ XDG_CACHE_HOME: named }: HostEnvironment, homeDir: string): string {
  return ownFolder(named, homeDir, ".cache");
}

/** WebAssembly as machine code of this machine. */
export function compiledModulesFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(cacheFolder(env, homeDir), "wasm");
}

/** Saved virtual machines, and what they are made from. */
export function machineCacheFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(cacheFolder(env, homeDir), "microvm");
}

/** State of projects in virtual machines, until their changes are carried over. */
export function machineStateFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "microvm");
}

/** Kernels for virtual machines, a folder each. */
export function kernelsFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(dataFolder(env, homeDir), "kernels");
}

/** Engines of languages, which are WebAssembly modules, that the user has put there. */
export function wasmEnginesFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(dataFolder(env, homeDir), "wasm");
}

export function imageStoreFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(dataFolder(env, homeDir), "images");
}

export function auditFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "audit");
}

/** That audit logs were begun, and where: noted outside them. */
export function auditBeginningsFile(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "audit-begun.jsonl");
}

export function journalFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "journal");
}

/** Files that containers of an engine are shown. */
export function engineFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "engine");
}

/** Kept sandboxes, a folder each. */
export function sandboxesFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "sandboxes");
}

/** Changes of synced projects that wait for the user, a folder for each run. */
export function heldFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "held");
}

/** Snapshots of kept sandboxes, a folder each. */
export function snapshotsFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "snapshots");
}

/** Modules that code mode has made of servers' tools. */
export function toolModulesFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "tool-modules");
}

/** The user's decisions about projects' own settings, a file for each project. */
export function trustFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "trust");
}

/** Who may ask over the network. */
export function apiKeysFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "keys");
}

/** Processor time that callers over the network have used within the last hour. */
export function apiUsageFile(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "api-usage.json");
}

/** The token that authenticates the user on a loopback port of the HTTP interface. SDKs read it by the same rule. */
export function apiTokenFile(env: HostEnvironment, homeDir: string, port: number): string {
  return joinedPath(stateFolder(env, homeDir), `api-tokens/${port}`);
}

/** Where the daemon's socket lies where there is no folder for such things that ends with the session. */
export function daemonStateFolder(env: HostEnvironment, homeDir: string): string {
  return joinedPath(stateFolder(env, homeDir), "daemon");
}

/** A value that is not absolute is to be ignored, by the specification of these variables. */
function ownFolder(named: string | undefined, homeDir: string, usual: string): string {
  const base = named !== undefined && isAbsolute(named) ? named : joinedPath(homeDir, usual);
  return joinedPath(base, "agentkernel");
}
