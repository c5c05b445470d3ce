/** Writes the output of a detached command to its files as it comes. A disk that is full costs output, never a stall. */
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import type { OutputSink } from "../../../guest/index.js";
import {
  encodeHead,
  encodePlace,
  HEADER_BYTES,
  type LogPlace,
  type LogStream,
  logFiles,
  MOST_RECORD_BYTES,
  SEGMENT_BYTES,
  START,
} from "./log-format.js";
import { endOf, openSegment } from "./log-reader.js";

const MOST_LOST = 0xffff_ffff;

export class ExecLog {
  readonly #files: ReturnType<typeof logFiles>;
  readonly #segmentBytes: number;
  #file: FileHandle | null = null;
  #segmentAt = 0;
  #place: LogPlace = START;
  #lost = { 1: 0, 2: 0 };
  #last: Promise<void> = Promise.resolve();
  #listeners = new Set<() => void>();
  #isClosed = false;

  private constructor(folder: string, id: string, segmentBytes: number) {
    this.#files = logFiles(folder, id);
    this.#segmentBytes = segmentBytes;
  }

  /** Goes on where an earlier process had to leave it. */
  static async open(folder: string, id: string, segmentBytes = SEGMENT_BYTES): Promise<ExecLog> {
    const log = new ExecLog(folder, id, segmentBytes);
    await log.#resume();
    return log;
  }

  static async remove(folder: string, id: string): Promise<void> {
    const { newer, older } = logFiles(folder, id);
    await Promise.all([rm(newer, { force: true }), rm(older, { force: true })]);
  }

  /** How far each stream is on record, lost bytes included. */
  get place(): LogPlace {
    return this.#place;
  }

  /** Bytes that could not be written, and that nobody has been told of in the files yet. */
  get unwritten(): number {
    return this.#lost[1] + this.#lost[2];
  }

  /** Called whenever there is more to read, or no more will come. Returns how to stop. */
  onGrowth(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  sink(stream: LogStream, onEnd: () => void): OutputSink {
    return {
      write: (chunk, taken) => {
        this.#last = this.#last.then(() => this.#append(stream, chunk)).then(taken);
      },
      end: () => {
        this.#last = this.#last.then(onEnd);
      },
    };
  }

  /** So many bytes of the stream were there and are not to be had any more. */
  skip(stream: LogStream, length: number): void {
    this.#lost[stream] += length;
  }

  /** Once everything has been written. No more will come. */
  async close(): Promise<void> {
    await this.#last;
    if (this.unwritten > 0) await this.#write(1, Buffer.alloc(0)).catch(() => {});
    await this.#file?.close();
    this.#file = null;
    this.#isClosed = true;
    this.#tell();
  }

  async #append(stream: LogStream, chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; at += MOST_RECORD_BYTES) {
      const part = chunk.subarray(at, at + MOST_RECORD_BYTES);
      try {
        await this.#write(stream, part);
      } catch {
        // Told of in its place, as soon as something can be written again.
        this.#lost[stream] += part.length;
      }
    }
    this.#tell();
  }

  async #write(stream: LogStream, part: Buffer): Promise<void> {
    const file = await this.#ready();
    const { 1: stdout, 2: stderr } = this.#lost;
    const gaps = ([1, 2] as const).flatMap((which) => gapRecords(which, this.#lost[which]));
    const data = part.length === 0 ? [] : [encodeHead(stream, part.length, false), part];
    const all = [...gaps, ...data];
    const length = all.reduce((sum, piece) => sum + piece.length, 0);
    const position = HEADER_BYTES + this.#place.at - this.#segmentAt;
    const { bytesWritten } = await file.writev(all, position);
    if (bytesWritten < length) throw new Error("the disk took only a part");
    this.#lost = { 1: 0, 2: 0 };
    this.#place = {
      at: this.#place.at + length,
      stdout: this.#place.stdout + stdout + (stream === 1 ? part.length : 0),
      stderr: this.#place.stderr + stderr + (stream === 2 ? part.length : 0),
    };
  }

  /** The file to write to: another one where this one is full. */
  async #ready(): Promise<FileHandle> {
    const { newer, older } = this.#files;
    if (this.#file !== null && this.#place.at - this.#segmentAt < this.#segmentBytes) return this.#file;
    if (this.#file !== null) {
      await rename(newer, older);
      const full = this.#file;
      this.#file = null;
      await full.close();
    }
    return await this.#begin();
  }

  async #begin(): Promise<FileHandle> {
    const file = await open(this.#files.newer, "w+", 0o600);
    try {
      await file.write(encodePlace(this.#place), 0, HEADER_BYTES, 0);
    } catch (error) {
      await file.close();
      throw error;
    }
    this.#file = file;
    this.#segmentAt = this.#place.at;
    return file;
  }

  async #resume(): Promise<void> {
    const { newer, older } = this.#files;
    const last = await openSegment(newer);
    if (last !== null) {
      this.#segmentAt = last.place.at;
      this.#place = await endOf(last);
      await last.file.close();
      this.#file = await open(newer, "r+");
      // What follows the last whole record is overwritten, and must not be taken for one.
      await this.#file.truncate(HEADER_BYTES + this.#place.at - this.#segmentAt);
      return;
    }
    const first = await openSegment(older);
    if (first === null) return;
    this.#place = await endOf(first);
    await first.file.close();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

function gapRecords(stream: LogStream, lost: number): Buffer[] {
  const gaps: Buffer[] = [];
  for (let left = lost; left > 0; left -= MOST_LOST) gaps.push(encodeHead(stream, Math.min(left, MOST_LOST), true));
  return gaps;
}
