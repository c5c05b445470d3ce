/** The files of a log: numbered from 1, each going on where the one before ends. */
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { joinedPath } from "../core/joined-path.js";
import { isCode } from "./file-errors.js";
import { type DecodedLine, decodeLine, MAX_LINE_BYTES } from "./line.js";

export function logFile(folder: string, number: number): string {
  return joinedPath(folder, logFileName(number));
}

export function logFileName(number: number): string {
  return `${String(number).padStart(8, "0")}.jsonl`;
}

/** In order. A folder that is not there has none. */
export function logFileNumbers(folder: string): readonly number[] {
  try {
    return readdirSync(folder)
      .map((name) => /^(\d{8,12})\.jsonl$/.exec(name)?.[1])
      .filter((digits) => digits !== undefined)
      .map(Number)
      .sort((one, other) => one - other);
  } catch (error) {
    if (isCode(error, "ENOENT")) return [];
    throw error;
  }
}

export function logFileStat(folder: string, number: number): { readonly bytes: number; readonly changedMs: number } {
  const { size, mtimeMs } = statSync(logFile(folder, number));
  return { bytes: size, changedMs: mtimeMs };
}

/** What a file has from here on, at most so much; null where the file is not there. */
export function readFrom(path: string, from: number, mostBytes: number): Buffer | null {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch (error) {
    if (isCode(error, "ENOENT")) return null;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(mostBytes);
    let length = 0;
    for (let got = -1; got !== 0 && length < mostBytes; length += got) {
      got = readSync(fd, bytes, length, mostBytes - length, from + length);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

/** Null where it is not as it was written. */
export function firstLine(folder: string, number: number): DecodedLine | null {
  const bytes = readFrom(logFile(folder, number), 0, MAX_LINE_BYTES);
  const end = bytes?.indexOf("\n") ?? -1;
  return bytes === null || end < 0 ? null : decodeLine(bytes.toString("utf8", 0, end)).line;
}

/** How long the file was when the next one was begun; what comes after is not of the chain. */
export function closedLength(folder: string, file: number): number {
  const next = firstLine(folder, file + 1);
  const after: unknown = next?.type === "audit.file" ? next.fields.after : null;
  const isKnown = typeof after === "object" && after !== null && "bytes" in after && "file" in after;
  return isKnown && after.file === logFileName(file) ? Number(after.bytes) : Number.POSITIVE_INFINITY;
}
