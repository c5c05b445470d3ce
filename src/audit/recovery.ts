/**
 * What a writer does that finds the log other than its head says: somebody died between the two, the machine lost
 * power, or the log was changed. Nothing is ever made to look whole: lines that belong to the chain are taken over,
 * half a line is cut off and kept in a record of that, and all else stays as it is while the chain goes on in a new
 * file from what the head says, so that `verify` finds the gap.
 */
import { statSync, truncateSync } from "node:fs";
import type { Head } from "./head.js";
import { decodeLine, NO_HASH } from "./line.js";
import { logFile, logFileName, logFileNumbers, readFrom } from "./log-files.js";

/** A line about the log itself, to be written before anything else. */
interface Finding {
  readonly type: "audit.torn" | "audit.recovered";
  readonly fields: object;
}

interface Recovered {
  readonly head: Head;
  readonly findings: readonly Finding[];
  /** The file that the head names is to be left alone; the chain goes on in a new one. */
  readonly needsNewFile: boolean;
}

/** More than a writer can leave behind by dying. */
const MOST_UNKNOWN_BYTES = 4 * 1024 * 1024;

export function recover(folder: string, head: Head | null, boot: string): Recovered {
  if (head === null) return rebuild(folder, boot);
  if (head.file === 0) return { head, findings: [], needsNewFile: true };
  const size = sizeOf(logFile(folder, head.file));
  if (size === head.bytes) return atItsEnd(folder, head);
  if (size > head.bytes) return rollForward(folder, head, size);
  const reason = size < 0 ? "the file is gone" : "the file is shorter than it was";
  return lost(head, reason, { found_bytes: Math.max(0, size), restarted: head.boot !== boot });
}

/** -1 for a file that is not there. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? -1;
}

/** A writer may have begun the next file and died before the head knew of it. */
function atItsEnd(folder: string, head: Head): Recovered {
  const next = sizeOf(logFile(folder, head.file + 1));
  if (next < 0) return { head, findings: [], needsNewFile: false };
  const begun = statSync(logFile(folder, head.file + 1)).mtimeMs;
  return rollForward(folder, { ...head, file: head.file + 1, bytes: 0, begun: Math.floor(begun) }, next);
}

function rollForward(folder: string, from: Head, size: number): Recovered {
  const path = logFile(folder, from.file);
  if (size - from.bytes > MOST_UNKNOWN_BYTES) return lost(from, "more was added than a writer writes", {});
  const bytes = readFrom(path, from.bytes, size - from.bytes) ?? Buffer.alloc(0);
  let head = from;
  let at = 0;
  for (let end = bytes.indexOf("\n"); end >= 0; end = bytes.indexOf("\n", at)) {
    const { line } = decodeLine(bytes.toString("utf8", at, end));
    if (line === null || line.prev !== head.hash || line.seq !== head.seq + 1) {
      return lost(head, "lines follow that are not of this chain", {});
    }
    head = { ...head, seq: line.seq, hash: line.hash, bytes: head.bytes + end + 1 - at };
    at = end + 1;
  }
  if (at === bytes.length) return { head, findings: [], needsNewFile: false };
  truncateSync(path, head.bytes);
  const torn = {
    file: logFileName(head.file),
    bytes: bytes.length - at,
    text: bytes.toString("utf8", at).slice(0, 4096),
  };
  return { head, findings: [{ type: "audit.torn", fields: torn }], needsNewFile: false };
}

function lost(head: Head, reason: string, more: object): Recovered {
  const fields = { reason, file: logFileName(head.file), expected: { seq: head.seq, hash: head.hash }, ...more };
  return { head, findings: [{ type: "audit.recovered", fields }], needsNewFile: true };
}

/** Without a head the last line that is as it was written has to do. */
function rebuild(folder: string, boot: string): Recovered {
  const numbers = logFileNumbers(folder);
  const last = numbers.at(-1);
  const empty: Head = { file: 0, bytes: 0, begun: 0, seq: 0, hash: NO_HASH, boot };
  if (last === undefined) return { head: empty, findings: [], needsNewFile: true };
  for (const number of numbers.toReversed()) {
    const line = lastWholeLine(folder, number);
    if (line === null) continue;
    const bytes = sizeOf(logFile(folder, last));
    const head = { ...empty, file: last, bytes, seq: line.seq, hash: line.hash };
    const fields = { reason: "the head was missing or damaged", file: logFileName(number), found: { seq: line.seq } };
    return { head, findings: [{ type: "audit.recovered", fields }], needsNewFile: true };
  }
  return lost({ ...empty, file: last }, "the head and every line are missing or damaged", {});
}

function lastWholeLine(folder: string, number: number) {
  const path = logFile(folder, number);
  const size = Math.max(0, sizeOf(path));
  const from = Math.max(0, size - MOST_UNKNOWN_BYTES);
  const lines = (readFrom(path, from, size - from) ?? Buffer.alloc(0)).toString("utf8").split("\n");
  for (const text of lines.toReversed()) {
    const { line } = decodeLine(text);
    if (line !== null) return line;
  }
  return null;
}
