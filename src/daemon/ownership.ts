/**
 * One daemon a user. The folder `owner` has one entry: `free`, or the mark of the process that owns the socket. Taking it
 * is a rename of the entry that was seen, which only one process can win; an owner that died is succeeded the same way.
 */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { holderState, processMark } from "../core/process-mark.js";
import { isFileError } from "./file-error.js";

export interface Ownership {
  release(): void;
}

const FREE = "free";

/** Null where a living process has it. */
export function takeOwnership(folder: string): Ownership | null {
  const owner = join(folder, "owner");
  makeFree(folder, owner);
  const self = processMark();
  const [entry = FREE] = readdirSync(owner);
  if (entry !== FREE && holderState(entry, self) !== "dead") return null;
  const mine = join(owner, self.text);
  try {
    renameSync(join(owner, entry), mine);
  } catch (error) {
    // Another one was faster.
    if (isFileError(error, "ENOENT")) return null;
    throw error;
  }
  return { release: () => renameSync(mine, join(owner, FREE)) };
}

/** The folder appears with its entry or not at all. */
function makeFree(folder: string, owner: string): void {
  const fresh = join(folder, `owner.${process.pid}`);
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  writeFileSync(join(fresh, FREE), "");
  try {
    renameSync(fresh, owner);
  } catch (error) {
    // It is there already.
    if (!isFileError(error, "ENOTEMPTY", "EEXIST")) throw error;
    rmSync(fresh, { recursive: true, force: true });
  }
}
