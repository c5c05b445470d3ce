/** Copies of machines that stay: of the disk, of what the host knows of the project and, where it runs, of its memory. */
import { rm, stat } from "node:fs/promises";
import type { HeldStill, SandboxCopies, SandboxCopy } from "../../../core/backend.js";
import { AgentKernelError } from "../../../core/errors.js";
import { copyNotes } from "../../entry/copied-notes.js";
import { copyPersistent } from "../../linux/persistent/jail-command.js";
import type { MicrovmOptions } from "../options.js";
import { shapeFor } from "../shape-for.js";
import { HeldMachine } from "./held-machine.js";
import { insistOnSame, type MemoryMarks, memoryPath, noteSaved, readSaved } from "./memory.js";
import { type MachineRecord, readRecord, recordOfCopy, writeRecord } from "./record.js";

const NOTES = ["listing", "max-bytes"];
/** Of what a filesystem counts in. */
const BLOCK_BYTES = 512;

export function machineCopies(options: MicrovmOptions): SandboxCopies {
  return {
    of: "files and memory",
    async make(stateDir, into, signal, { isWanted, held } = { isWanted: true, held: null }) {
      const record = readRecord(stateDir);
      const marks = isWanted ? await memoryOf(options, stateDir, record, held) : null;
      const copied = await copyPersistent(options.programs, stateDir, into, signal);
      copyNotes(stateDir, into, NOTES);
      if (record !== null) writeRecord(into, recordOfCopy(record));
      if (marks === null) return await withoutMemory(into, copied);
      noteSaved(into, marks);
      return { ...copied, memory: true };
    },
  };
}

/** Null where there is none. Rejects where it could not go on here: then a copy of it would be of no use. */
async function memoryOf(
  options: MicrovmOptions,
  stateDir: string,
  record: MachineRecord | null,
  held: HeldStill | null,
): Promise<MemoryMarks | null> {
  if (held !== null && !(held instanceof HeldMachine)) {
    throw new AgentKernelError("internal", "what is held still is no machine");
  }
  const saved = held === null ? readSaved(stateDir) : held.marks;
  if (saved !== null && record !== null) {
    insistOnSame(saved, await shapeFor(options, { ...record, first: () => saved.first }));
  }
  return saved;
}

/** The file was copied with the disk, and is of no use without a note. */
async function withoutMemory(into: string, copied: SandboxCopy): Promise<SandboxCopy> {
  const path = memoryPath(into);
  const found = await stat(path).catch(() => null);
  if (found === null) return copied;
  await rm(path);
  const { bytes } = copied;
  return { ...copied, bytes: bytes === null ? null : Math.max(0, bytes - found.blocks * BLOCK_BYTES) };
}
