/** Copies of machines that stay: of the disk, and of what the host knows of the project. */
import type { KeptCopies } from "../../../core/backend.js";
import { copyNotes } from "../../entry/copied-notes.js";
import type { JailPrograms } from "../../linux/jail-process.js";
import { copyKept } from "../../linux/kept/jail-command.js";
import { readRecord, recordOfCopy, writeRecord } from "./record.js";

const NOTES = ["listing", "max-bytes"];

export function machineCopies(programs: JailPrograms): KeptCopies {
  return {
    of: "files",
    async make(stateDir, into, signal) {
      const copied = await copyKept(programs, stateDir, into, signal);
      copyNotes(stateDir, into, NOTES);
      const record = readRecord(stateDir);
      if (record !== null) writeRecord(into, recordOfCopy(record));
      return copied;
    },
  };
}
