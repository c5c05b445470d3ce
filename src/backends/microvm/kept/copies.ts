/** Copies of machines that stay: of the disk, and of what the host knows of the project. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { KeptCopies } from "../../../core/backend.js";
import type { JailPrograms } from "../../linux/jail-process.js";
import { copyKept } from "../../linux/kept/jail-command.js";
import { readRecord, recordOfCopy, writeRecord } from "./record.js";

const NOTES = ["listing", "max-bytes"];

export function machineCopies(programs: JailPrograms): KeptCopies {
  return {
    of: "files",
    async make(stateDir, into, signal) {
      const copied = await copyKept(programs, stateDir, into, signal);
      for (const name of NOTES) copyNote(join(stateDir, name), join(into, name));
      const record = readRecord(stateDir);
      if (record !== null) writeRecord(into, recordOfCopy(record));
      return copied;
    },
  };
}

function copyNote(from: string, into: string): void {
  try {
    copyFileSync(from, into);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
