/** What is written down of a kept container, in the sandbox's state folder. Each file is replaced as a whole. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KeptEnd, Layer } from "../../../core/backend.js";
import type { EngineKind } from "../../../core/engine-socket.js";

export interface KeptRecord {
  readonly engine: EngineKind;
  /** The container's. */
  readonly id: string;
  /** What of its spec cannot be changed any more. */
  readonly shape: string;
  /** The project lies in it. Without that it is of no use. */
  readonly isFilled: boolean;
  /** Its changes were carried over: the next start gives it the project as the host has it then. */
  readonly isCarried: boolean;
  /** The layer on the host has all that was changed, for it has not run since. */
  readonly isBrought: boolean;
  /** Whoever has started it only to hear of its changes. */
  readonly gatherer: string | null;
  readonly isSynced: boolean;
  readonly startedAtMs: number;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly layers: readonly Layer[];
}

const RECORD = "engine.json";
const END = "end.json";

export function readRecord(stateDir: string): KeptRecord | null {
  return readJson(join(stateDir, RECORD)) as KeptRecord | null;
}

/** Which engine has the container of the sandbox with this state folder; null where none has. */
export function keptEngineOf(stateDir: string): EngineKind | null {
  return readRecord(stateDir)?.engine ?? null;
}

export function writeRecord(stateDir: string, record: KeptRecord): void {
  writeJson(join(stateDir, RECORD), record);
}

export function readEnd(stateDir: string): KeptEnd | null {
  return readJson(join(stateDir, END)) as KeptEnd | null;
}

export function writeEnd(stateDir: string, end: KeptEnd): void {
  writeJson(join(stateDir, END), end);
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as unknown;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

function writeJson(path: string, value: object): void {
  const fresh = `${path}.new`;
  writeFileSync(fresh, JSON.stringify(value), { mode: 0o600 });
  renameSync(fresh, path);
}
