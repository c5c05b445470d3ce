/**
 * What a machine that stays had in memory when it was saved, in the state folder of a copy of it: one file beside its
 * disk, and a note that makes it count. A machine goes on from it once, for from then on its disk is another. Secrets that
 * a program had in memory lie in it.
 */
import { open, rename, rm, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { AgentKernelError } from "../../../core/errors.js";
import { readJson, writeJson } from "../../entry/state-file.js";
import type { Accelerator } from "../monitor.js";
import type { MachineShape } from "../shape.js";
import { diskPath } from "./disk.js";

/** Identifies what a virtual machine runs on. A saved one can go on only on the same. */
export interface MemoryMarks {
  /** Digests. */
  readonly monitor: string;
  readonly accelerator: Accelerator;
  /** By hardware a machine has the host's own processor, and goes on on no other; null where it is emulated. */
  readonly processor: string | null;
  readonly kernel: string;
  readonly root: string;
  readonly memoryMib: number;
  readonly vcpus: number;
  readonly diskMib: number | null;
  /** Its first message. */
  readonly first: string;
}

interface SavedNote {
  readonly version: typeof VERSION;
  readonly marks: MemoryMarks;
}

/** Changes with the devices that a machine has (native/vmm/src/qemu/arguments.rs). */
const VERSION = 2;
const NOTE = "memory.json";
/** While a machine reads it. Not beside the disk: no copy has it. */
const WAKING = "waking";

export function marksOf({ monitor, kernel, root, memoryMib, vcpus, diskMib, first }: MachineShape): MemoryMarks {
  return {
    monitor: monitor.digest,
    accelerator: monitor.accelerator,
    processor: monitor.accelerator === "kvm" ? (cpus()[0]?.model ?? "unknown") : null,
    kernel: kernel.digest,
    root: root.digest,
    memoryMib,
    vcpus,
    diskMib,
    first,
  };
}

/** The file, which is copied with the disk; empty, or of no use, where no note makes it count. */
export function memoryPath(stateDir: string): string {
  return join(dirname(diskPath(stateDir)), "memory");
}

/** A place for it, with nothing in it. */
export async function emptyMemory(stateDir: string): Promise<string> {
  const path = memoryPath(stateDir);
  await writeFile(path, "", { mode: 0o600 });
  return path;
}

/** Null where the machine in this folder starts from its disk. */
export function readSaved(stateDir: string): MemoryMarks | null {
  const note = readJson(stateDir, NOTE) as Partial<SavedNote> | null;
  if (note === null) return null;
  if (note.version === VERSION && note.marks !== undefined) return note.marks;
  throw cannotGoOn("it was saved by another version of agentkernel");
}

/** When all of it is there. */
export function noteSaved(stateDir: string, marks: MemoryMarks): void {
  const note: SavedNote = { version: VERSION, marks };
  writeJson(stateDir, NOTE, note);
}

/** Whoever starts from it has it alone, and nobody after: whatever becomes of this start, the disk may have changed. */
export async function takeSaved(stateDir: string): Promise<string> {
  const path = join(stateDir, WAKING);
  await rm(join(stateDir, NOTE));
  await syncFolder(stateDir);
  await rename(memoryPath(stateDir), path);
  return path;
}

export async function dropTaken(stateDir: string): Promise<void> {
  await rm(join(stateDir, WAKING), { force: true });
}

/** Throws where a machine of this shape is not the one that was saved. */
export function insistOnSame(saved: MemoryMarks, shape: MachineShape): void {
  const now = marksOf(shape);
  if (saved.monitor !== now.monitor) throw cannotGoOn("QEMU is not the one that it was saved by");
  if (saved.accelerator !== now.accelerator || saved.processor !== now.processor) {
    throw cannotGoOn("the machine had another processor");
  }
  if (saved.kernel !== now.kernel) {
    throw cannotGoOn("the machine's kernel, or agentkernel's own programs in it, are not those that it was saved with");
  }
  if (saved.root !== now.root) throw cannotGoOn("the image's disk is not the one that it was saved with");
  if (JSON.stringify(saved) !== JSON.stringify(now))
    throw cannotGoOn("its limits or its policy have been changed since");
}

function cannotGoOn(why: string): AgentKernelError {
  return new AgentKernelError("unsupported", `what was saved in memory cannot go on here: ${why}`, {
    hint: "snapshot, restore and fork have its files alone with --no-memory; started again, it runs on what is here now",
  });
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
