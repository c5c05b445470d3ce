/** The record of a persistent virtual machine, in the sandbox's state folder. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ImageSource, Layer } from "../../../core/backend.js";
import type { ResourcePolicy } from "../../../core/policy.js";
import { readJson, writeJson } from "../../entry/state-file.js";
import type { MonitorProgram } from "../monitor.js";
import { newMachineId } from "../wake.js";
import type { MemoryMarks } from "./memory.js";

export interface MachineRecord {
  readonly version: 1;
  /** Settings to start it with again, also where only its changes are asked for. */
  readonly monitor: MonitorProgram;
  readonly image: ImageSource;
  readonly resources: ResourcePolicy;
  /** Its first message. */
  readonly first: string;
  readonly hostname: string;
  /** Hexadecimal. */
  readonly machineId: string;
  /** Of its disk, which keeps the size that it was made with. */
  readonly diskMib: number;
  /** The project lies in it. Without that it is of no use. */
  readonly isFilled: boolean;
  /** Its changes were carried over: the next start gives it the project as the host has it then. */
  readonly isCarried: boolean;
  /** The layer on the host has all that was changed, for it has not run since. */
  readonly isBrought: boolean;
  /** It runs only to be asked for its changes. */
  readonly isAsked: boolean;
  /** It goes on where it was saved, and is not one of its own yet. Of no use to anybody before. */
  readonly isWaking?: boolean;
  /** What it runs on; not there: its memory cannot be saved. */
  readonly marks?: MemoryMarks;
  readonly isSynced: boolean;
  readonly layers: readonly Layer[];
}

const NAME = "machine.json";

/** Null where no machine has this folder. */
export function readRecord(stateDir: string): MachineRecord | null {
  return readJson(stateDir, NAME) as MachineRecord | null;
}

export function writeRecord(stateDir: string, record: MachineRecord): void {
  writeJson(stateDir, NAME, record);
}

/** Nothing came of it. */
export function forgetRecord(stateDir: string): void {
  rmSync(join(stateDir, NAME), { force: true });
}

/** Of a copy: it is another machine, with the same on its disk. */
export function recordOfCopy(record: MachineRecord): MachineRecord {
  return { ...record, machineId: newMachineId().toString("hex"), isBrought: false, isAsked: false };
}
