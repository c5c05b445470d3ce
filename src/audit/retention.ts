/** When a file is full or old, and which files may go. What went is said in the chain before it goes. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { holderState, type ProcessMark } from "../core/process-mark.js";
import type { Head } from "./head.js";
import { firstLine, logFile, logFileName, logFileNumbers, logFileStat } from "./log-files.js";
import type { RetentionOptions } from "./retention-options.js";

export function isFull(head: Head, { maxFileBytes, maxFileAgeMs }: RetentionOptions, nowMs: number): boolean {
  return head.bytes >= maxFileBytes || (head.bytes > 0 && nowMs - head.begun > maxFileAgeMs);
}

interface Pruning {
  readonly numbers: readonly number[];
  /** For the line that says so. */
  readonly fields: object;
}

/** Which of the files before `current` go; null: none. */
export function pruning(folder: string, current: number, options: RetentionOptions, nowMs: number): Pruning | null {
  const earlier = logFileNumbers(folder).filter((number) => number < current);
  let total = earlier.reduce((sum, number) => sum + logFileStat(folder, number).bytes, 0);
  const gone: number[] = [];
  for (const number of earlier) {
    const { bytes, changedMs } = logFileStat(folder, number);
    if (total <= options.keepBytes && nowMs - changedMs <= options.keepMs) break;
    gone.push(number);
    total -= bytes;
  }
  const [first] = gone;
  if (first === undefined) return null;
  const kept = [...earlier, current].find((number) => !gone.includes(number)) ?? current;
  const line = firstLine(folder, kept);
  // A file whose beginning is damaged is no ground to throw away what came before it.
  if (line === null) return null;
  const files = gone.map(logFileName);
  return { numbers: gone, fields: { files, last: { seq: line.seq - 1, hash: line.prev } } };
}

/** Also what writers left that died while they made something. */
export function removeFiles(folder: string, numbers: readonly number[], self: ProcessMark): void {
  for (const number of numbers) rmSync(logFile(folder, number), { force: true });
  for (const name of readdirSync(folder)) {
    const mark = /^new\.(.+)$/.exec(name)?.[1];
    if (mark !== undefined && holderState(mark, self) === "dead") rmSync(join(folder, name), { recursive: true });
  }
}
