/**
 * Where proofs are remembered. What is proven under variables that name another engine than the usual one has a place of
 * its own: one run with an odd environment takes nothing away from what is known for the ordinary ones.
 */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BackendName } from "../../core/backend.js";
import { joinedPath } from "../../core/joined-path.js";
import { stateFolder } from "../../core/state-folders.js";
import type { RuntimeHost } from "../open-backend.js";

export type HostFolders = Pick<RuntimeHost, "env" | "homeDir">;

/** What each decides is also in the identity that a proof is for. */
const naming: Readonly<Partial<Record<BackendName, readonly string[]>>> = {
  microvm: ["AGENTKERNEL_VMM", "AGENTKERNEL_KERNEL"],
};

/** What the environment names in place of the usual; empty where it names nothing. */
export function settingOf({ env }: HostFolders, name: BackendName): string {
  const named = (naming[name] ?? []).filter((variable) => (env[variable] ?? "") !== "");
  return named.map((variable) => `${variable}=${env[variable]}`).join("\n");
}

export function proofFile(place: HostFolders, name: BackendName): string {
  const setting = settingOf(place, name);
  return fileNamed(place, setting === "" ? name : `${name}-${shortened(setting)}`);
}

export function fileNamed({ env, homeDir }: HostFolders, name: string): string {
  return joinedPath(stateFolder(env, homeDir), `proofs/${name}.json`);
}

/** FNV-1a. Two that are alike by chance only take turns in one file, so no digest has to be loaded for this. */
function shortened(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** Undefined where there is none, or none that could be read. */
export function readJson(file: string): unknown {
  try {
    // Most often there is none, and looking is cheaper than failing.
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
    return JSON.parse(readFileSync(file, "utf8")) as unknown;
  } catch {
    return undefined;
  }
}

/** By rename. What cannot be written is found out again next time. */
export function writeJson(file: string, value: unknown): void {
  try {
    mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
    const draft = `${file}.${Math.random().toString(36).slice(2)}`;
    writeFileSync(draft, JSON.stringify(value), { mode: 0o600 });
    renameSync(draft, file);
  } catch {
    // A full or read-only disk is told by whoever needs it to run a sandbox.
  }
}
