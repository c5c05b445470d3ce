/**
 * How the output of a detached command lies on disk: records of one stream each, in order of arrival, in at most two
 * files. A file begins with where it stands in the whole; the older one goes when the newer one is full, so that the
 * newest output stays and what is missing can be counted. Whatever a killed process left, the whole records before it
 * count.
 */
import { Buffer } from "node:buffer";

export const SEGMENT_BYTES = 8 * 2 ** 20;
export const MOST_RECORD_BYTES = 65_536;
export const HEADER_BYTES = 32;
export const RECORD_HEAD_BYTES = 5;

const MAGIC = Buffer.from("AKLOG\0\0\x01", "latin1");

export type LogStream = 1 | 2;

/** Where a file, or a reader, stands: in records, and in each stream's bytes. */
export interface LogPlace {
  /** Bytes of records since the command's start. */
  readonly at: number;
  readonly stdout: number;
  readonly stderr: number;
}

export const START: LogPlace = { at: 0, stdout: 0, stderr: 0 };

interface LogRecord {
  readonly stream: LogStream;
  /** Null: so many bytes of the stream are missing here. */
  readonly bytes: Buffer | null;
  readonly length: number;
}

export function encodePlace({ at, stdout, stderr }: LogPlace): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  for (const [index, value] of [at, stdout, stderr].entries()) header.writeBigUInt64LE(BigInt(value), 8 + 8 * index);
  return header;
}

/** Null where it is no such file, or too short to tell. */
export function decodePlace(header: Buffer): LogPlace | null {
  if (header.length < HEADER_BYTES || !header.subarray(0, 8).equals(MAGIC)) return null;
  const [at = 0, stdout = 0, stderr = 0] = [8, 16, 24].map((offset) => Number(header.readBigUInt64LE(offset)));
  return { at, stdout, stderr };
}

const LOST = 0x80;

export function encodeHead(stream: LogStream, length: number, isLost: boolean): Buffer {
  const head = Buffer.alloc(RECORD_HEAD_BYTES);
  head.writeUInt8(isLost ? stream | LOST : stream, 0);
  head.writeUInt32LE(length, 1);
  return head;
}

interface Decoded {
  readonly records: readonly LogRecord[];
  /** Bytes of the whole records. */
  readonly length: number;
  /** What follows is no record at all. */
  readonly isDamaged: boolean;
}

/** The whole records at the start of `bytes`. */
export function decodeRecords(bytes: Buffer): Decoded {
  const records: LogRecord[] = [];
  let at = 0;
  while (bytes.length - at >= RECORD_HEAD_BYTES) {
    const kind = bytes.readUInt8(at);
    const length = bytes.readUInt32LE(at + 1);
    const isLost = (kind & LOST) !== 0;
    const stream = kind & ~LOST;
    if ((stream !== 1 && stream !== 2) || (!isLost && length > MOST_RECORD_BYTES)) {
      return { records, length: at, isDamaged: true };
    }
    const from = at + RECORD_HEAD_BYTES;
    const to = isLost ? from : from + length;
    if (to > bytes.length) break;
    records.push({ stream, bytes: isLost ? null : bytes.subarray(from, to), length });
    at = to;
  }
  return { records, length: at, isDamaged: false };
}

export function advance(place: LogPlace, { records, length }: Pick<Decoded, "records" | "length">): LogPlace {
  let { stdout, stderr } = place;
  for (const record of records) {
    if (record.stream === 1) stdout += record.length;
    else stderr += record.length;
  }
  return { at: place.at + length, stdout, stderr };
}

export function logFiles(folder: string, id: string): { readonly newer: string; readonly older: string } {
  return { newer: `${folder}/${id}.log`, older: `${folder}/${id}.old.log` };
}
