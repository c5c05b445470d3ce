/** The record of a persistent container, in the sandbox's state folder. */
import type { LastEnd, Layer } from "../../../core/backend.js";
import type { EngineKind } from "../../../core/engine-socket.js";
import { readJson, writeJson } from "../../entry/state-file.js";

export interface ContainerRecord {
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

export function readRecord(stateDir: string): ContainerRecord | null {
  return readJson(stateDir, RECORD) as ContainerRecord | null;
}

export function writeRecord(stateDir: string, record: ContainerRecord): void {
  writeJson(stateDir, RECORD, record);
}

export function readEnd(stateDir: string): LastEnd | null {
  return readJson(stateDir, END) as LastEnd | null;
}

export function writeEnd(stateDir: string, end: LastEnd): void {
  writeJson(stateDir, END, end);
}
