/** Reads the files of a log line by line, holding little of them. What lies there may be anything by now. */
import { type FileHandle, open } from "node:fs/promises";
import { isCode } from "./file-errors.js";
import { MAX_LINE_BYTES, parseObject } from "./line.js";
import { logFile } from "./log-files.js";

interface RawLine {
  readonly text: string;
  /** From 1, within its file. */
  readonly number: number;
  /** Where the next line starts. */
  readonly endOffset: number;
  /** False for what has no newline behind it: a line that is being written, or was never finished. */
  readonly isWhole: boolean;
}

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 10;

/** A line beyond all measure comes cut. A file that is not there has no lines. */
export async function* rawLines(folder: string, file: number, fromOffset = 0): AsyncGenerator<RawLine> {
  const handle = await openOrNull(logFile(folder, file));
  if (handle === null) return;
  try {
    let kept: Buffer[] = [];
    let keptBytes = 0;
    let number = 0;
    let offset = fromOffset;
    const take = (part: Buffer) => {
      if (keptBytes < MAX_LINE_BYTES) kept.push(Buffer.from(part.subarray(0, MAX_LINE_BYTES - keptBytes)));
      keptBytes += part.length;
    };
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, offset);
      if (bytesRead === 0) break;
      let at = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0 && end < bytesRead; end = chunk.indexOf(NEWLINE, at)) {
        take(chunk.subarray(at, end));
        at = end + 1;
        yield { text: Buffer.concat(kept).toString(), number: ++number, endOffset: offset + at, isWhole: true };
        kept = [];
        keptBytes = 0;
      }
      take(chunk.subarray(at, bytesRead));
      offset += bytesRead;
    }
    if (keptBytes > 0) {
      yield { text: Buffer.concat(kept).toString(), number: number + 1, endOffset: offset, isWhole: false };
    }
  } finally {
    await handle.close();
  }
}

async function openOrNull(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (isCode(error, "ENOENT")) return null;
    throw error;
  }
}

/** A line as `list` and `tail` show it. Whether it was changed is the business of `verify`. */
export interface AuditRecord {
  readonly seq: number;
  readonly time: string;
  readonly type: string;
  readonly sandbox: string | null;
  readonly isDenied: boolean;
  /** Every field of the line. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export function asRecord(text: string): AuditRecord | null {
  const fields = parseObject(text);
  if (fields === null) return null;
  const { seq, time, type, sandbox, verdict } = fields;
  if (typeof seq !== "number" || typeof time !== "string" || typeof type !== "string") return null;
  return {
    seq,
    time,
    type,
    sandbox: typeof sandbox === "string" ? sandbox : null,
    isDenied: verdict === "denied",
    fields,
  };
}
