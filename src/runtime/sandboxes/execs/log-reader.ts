/** Reads the output of a detached command from its files, also while it grows and the oldest of it goes. */
import { Buffer } from "node:buffer";
import { type FileHandle, open } from "node:fs/promises";
import { isCode } from "../folder.js";
import {
  advance,
  decodePlace,
  decodeRecords,
  HEADER_BYTES,
  type LogPlace,
  type LogStream,
  logFiles,
  MOST_RECORD_BYTES,
  RECORD_HEAD_BYTES,
  START,
} from "./log-format.js";

/** Room for one record of any size. */
const BLOCK_BYTES = 2 * (MOST_RECORD_BYTES + RECORD_HEAD_BYTES);

export type LogPiece =
  | { readonly stream: LogStream; readonly bytes: Buffer }
  /** So many bytes are not kept any more. */
  | { readonly lostBytes: number };

interface Found {
  readonly file: FileHandle;
  readonly place: LogPlace;
}

/** What is there from `from` on, and where it ends. */
export async function* readLog(folder: string, id: string, from: LogPlace = START): AsyncGenerator<LogPiece, LogPlace> {
  const { newer, older } = logFiles(folder, id);
  let place = from;
  for (;;) {
    const found = await find(place);
    if (found === null) return place;
    try {
      if (found.place.at > place.at) {
        const lostBytes = found.place.stdout + found.place.stderr - place.stdout - place.stderr;
        place = found.place;
        if (lostBytes > 0) yield { lostBytes };
      }
      const before = place;
      place = yield* recordsOf(found, place);
      // The end of the older file is the start of the newer one; the end of the newer one is the end.
      if (place.at === before.at) return place;
    } finally {
      await found.file.close();
    }
  }

  /** The file that has what comes next, or the oldest that has anything after it. */
  async function find(wanted: LogPlace): Promise<Found | null> {
    const last = await openSegment(newer);
    if (last !== null && last.place.at <= wanted.at) return last;
    const first = await openSegment(older);
    if (first === null) return last;
    if (last !== null && first.place.at <= wanted.at && (await endOf(first)).at <= wanted.at) {
      await first.file.close();
      return last;
    }
    await last?.file.close();
    return first;
  }
}

async function* recordsOf({ file, place: start }: Found, from: LogPlace): AsyncGenerator<LogPiece, LogPlace> {
  let place = from;
  for (;;) {
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    const { bytesRead } = await file.read(block, 0, BLOCK_BYTES, HEADER_BYTES + place.at - start.at);
    const decoded = decodeRecords(block.subarray(0, bytesRead));
    place = advance(place, decoded);
    for (const { stream, bytes, length } of decoded.records) {
      yield bytes === null ? { lostBytes: length } : { stream, bytes };
    }
    if (decoded.length === 0) return place;
  }
}

/** Null where there is none that can be read. */
export async function openSegment(path: string): Promise<Found | null> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (isCode(error, "ENOENT")) return null;
    throw error;
  }
  const header = Buffer.alloc(HEADER_BYTES);
  const { bytesRead } = await file.read(header, 0, HEADER_BYTES, 0);
  const place = decodePlace(header.subarray(0, bytesRead));
  if (place !== null) return { file, place };
  await file.close();
  return null;
}

/** Where the whole records of a file end. */
export async function endOf(segment: Found): Promise<LogPlace> {
  const records = recordsOf(segment, segment.place);
  for (;;) {
    const { done, value } = await records.next();
    if (done === true) return value;
  }
}
