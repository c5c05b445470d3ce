/**
 * Lines that were written under a turn that was then lost. Whoever took it went on from what it found: from these lines
 * if they were there by then, else from those before. So they are in the log or not, and have to be written again or not.
 */
import type { Head } from "./head.js";
import { closedLength } from "./log-files.js";

export interface DoubtfulLines {
  readonly file: number;
  /** Where each ends in the file. */
  readonly ends: readonly number[];
}

/** How many of them, from the first, the log has taken. `head`: where it ends, with the turn in our hands. */
export function countTaken({ file, ends }: DoubtfulLines, folder: string, head: Head): number {
  if (head.file < file) return 0;
  const closedAt = head.file === file ? head.bytes : closedLength(folder, file);
  return ends.filter((end) => end <= closedAt).length;
}
