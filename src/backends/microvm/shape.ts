/** Derives the shape of a virtual machine from a sandbox's policy. Pure. */
import { createHash } from "node:crypto";
import type { ResourcePolicy } from "../../core/policy.js";
import { LEAST_MEMORY_MIB } from "./least-memory.js";
import type { KernelFiles, RootFile } from "./machine-files.js";
import type { Monitor } from "./monitor.js";

/** A template serves all machines of its shape. */
export interface MachineShape {
  readonly monitor: Monitor;
  readonly kernel: KernelFiles;
  readonly root: RootFile;
  readonly memoryMib: number;
  readonly vcpus: number;
  /** What it is told first (first-message.ts). */
  readonly first: string;
  /** Of the disk of one that stays; the others write to their memory. */
  readonly diskMib: number | null;
}

/** Memory of the monitor itself, beside the virtual machine's: mostly translated code. */
const MONITOR_MIB = 192;

export function memoryMib({ memoryMiB }: ResourcePolicy): number {
  return Math.max(LEAST_MEMORY_MIB, Math.ceil(memoryMiB / 2) * 2);
}

/** Software emulation runs one at a time anyway, and takes twice as long to bring two of them up. */
export function vcpus({ vcpus: wanted }: ResourcePolicy, { accelerator }: Monitor): number {
  return accelerator === "tcg" ? 1 : Math.max(1, Math.ceil(wanted));
}

/** Memory limit of the jail around the monitor. */
export function memoryAroundMib(machineMib: number): number {
  return machineMib + MONITOR_MIB;
}

export function shapeKey({ monitor, kernel, root, memoryMib, vcpus, first, diskMib }: MachineShape): string {
  const { kind, accelerator, digest } = monitor;
  const parts = [3, kind, accelerator, digest, kernel.digest, root.digest, memoryMib, vcpus, first, diskMib];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}
