/**
 * Appends records to the log, in turn with every other process that does. One append is one turn and takes a fraction
 * of a millisecond; it is synchronous, so that a process cannot lose its place between two steps of its own.
 */
import { closeSync, fdatasync, fsync, ftruncateSync, openSync, writeSync } from "node:fs";
import { type ProcessMark, processMark } from "../core/process-mark.js";
import { beginningsOf, noteBeginning } from "./beginnings.js";
import { DiskSyncs } from "./disk-syncs.js";
import { countTaken, type DoubtfulLines } from "./doubt.js";
import type { Head } from "./head.js";
import { encodeLine } from "./line.js";
import { logFile, logFileName, logFileNumbers } from "./log-files.js";
import { recover } from "./recovery.js";
import { isFull, pruning, removeFiles } from "./retention.js";
import type { RetentionOptions } from "./retention-options.js";
import { HeldTurn, Turn } from "./turn.js";
import type { TurnHolder } from "./turn-holder.js";

export interface PreparedRecord {
  readonly time: string;
  readonly type: string;
  readonly fields: object;
}

interface WriterOptions extends RetentionOptions {
  readonly folder: string;
  /** Where it is noted, outside the folder, that a log was begun. */
  readonly beginnings?: string | undefined;
}

interface AppendOptions {
  readonly durable?: boolean;
  /** Who is not waited for any longer. */
  readonly passedOver?: TurnHolder | null;
}

/** Null: written. */
type AppendAnswer = TurnHolder | "turn-lost" | null;

/** Noticed before something was written. */
class TurnLost extends Error {}

const HELD_UP = "a process that had the turn did not write";

export class AuditWriter {
  readonly #options: WriterOptions;
  readonly #mark: ProcessMark;
  readonly #turn: Turn;
  readonly #syncs = new DiskSyncs();
  /** Of the records that are being written: how many are in the log, and which may be. */
  #taken = 0;
  #doubtful: DoubtfulLines | null = null;
  /** Of the lines that were written last. */
  #ends: readonly number[] = [];

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#mark = processMark();
    this.#turn = new Turn(options.folder, this.#mark);
  }

  /**
   * Who has the turn, where it is not ours to have: the same records are to come again then, also after an error, with
   * others only behind them. `durable`: on the disk itself by the next `synced`.
   */
  tryAppend(
    records: readonly PreparedRecord[],
    { durable = false, passedOver = null }: AppendOptions = {},
  ): AppendAnswer {
    const turn = this.#turn.tryTake(passedOver);
    if (!(turn instanceof HeldTurn)) return turn;
    let head = turn.head;
    let gone: readonly number[] = [];
    let isKept = false;
    try {
      const recovered = recover(this.#options.folder, turn.head, this.#mark.boot);
      const findings = recovered.findings.map((finding) => this.#record(finding.type, finding.fields));
      if (turn.passedOver !== null) {
        findings.push(this.#record("audit.recovered", { reason: HELD_UP, holder: turn.passedOver }));
      }
      head = recovered.head;
      const left = records.slice(this.#countTaken(head, durable));
      const isOver = recovered.needsNewFile || turn.origin === "forced" || isFull(head, this.#options, Date.now());
      if (isOver) {
        ({ head, gone } = this.#beginFile(turn, head, findings));
        head = this.#write(turn, head, left, durable);
      } else {
        head = this.#write(turn, head, [...findings, ...left], durable);
      }
      const ends = this.#ends.slice(this.#ends.length - left.length);
      this.#doubtful = { file: head.file, ends };
    } catch (error) {
      if (!(error instanceof TurnLost)) throw error;
    } finally {
      isKept = turn.release(head);
    }
    if (isKept) {
      this.#taken = 0;
      this.#doubtful = null;
    }
    if (isKept && gone.length > 0) removeFiles(this.#options.folder, gone, this.#mark);
    return isKept ? null : "turn-lost";
  }

  /** Everything that was to be durable is on the disk. */
  async synced(): Promise<void> {
    await this.#syncs.done();
  }

  #countTaken(head: Head, durable: boolean): number {
    if (this.#doubtful !== null) {
      const { folder } = this.#options;
      this.#taken += countTaken(this.#doubtful, folder, head);
      if (durable) this.#syncs.ask(logFile(folder, this.#doubtful.file), fdatasync);
      this.#doubtful = null;
    }
    return this.#taken;
  }

  #beginFile(
    turn: HeldTurn,
    before: Head,
    findings: readonly PreparedRecord[],
  ): { head: Head; gone: readonly number[] } {
    const { folder } = this.#options;
    if (turn.isLost()) throw new TurnLost();
    const file = Math.max(before.file, logFileNumbers(folder).at(-1) ?? 0) + 1;
    closeSync(openSync(logFile(folder, file), "wx", 0o600));
    if (before.file > 0) this.#syncs.ask(logFile(folder, before.file), fdatasync);
    this.#syncs.ask(folder, fsync);
    const missed = file === 1 ? this.#noteBeginning() : [];
    const after = before.file === 0 ? null : { file: logFileName(before.file), bytes: before.bytes };
    const first = this.#record("audit.file", { version: 1, file: logFileName(file), after });
    const begun = { ...before, file, bytes: 0, begun: Date.now() };
    const head = this.#write(turn, begun, [first, ...missed, ...findings], false);
    const pruned = pruning(folder, file, this.#options, Date.now());
    if (pruned === null) return { head, gone: [] };
    return { head: this.#write(turn, head, [this.#record("audit.pruned", pruned.fields)], true), gone: pruned.numbers };
  }

  /** A log of which nothing is left is missed by the one that takes its place. */
  #noteBeginning(): readonly PreparedRecord[] {
    const { folder, beginnings } = this.#options;
    if (beginnings === undefined) return [];
    const earlier = beginningsOf(beginnings, folder);
    noteBeginning(beginnings, folder, new Date().toISOString());
    if (earlier.length === 0) return [];
    return [this.#record("audit.recovered", { reason: "the head and every file were gone", begun: earlier })];
  }

  #record(type: string, fields: object): PreparedRecord {
    return { time: new Date().toISOString(), type, fields };
  }

  #write(turn: HeldTurn, head: Head, records: readonly PreparedRecord[], durable: boolean): Head {
    let { seq, hash } = head;
    const ends: number[] = [];
    let end = head.bytes;
    const lines: Buffer[] = [];
    for (const { time, type, fields } of records) {
      seq++;
      const line = encodeLine({ seq, time, writer: this.#mark.text, type }, fields, hash);
      hash = line.hash;
      const bytes = Buffer.from(line.text);
      lines.push(bytes);
      end += bytes.length;
      ends.push(end);
    }
    const bytes = Buffer.concat(lines);
    const path = logFile(this.#options.folder, head.file);
    appendWhole(turn, path, bytes, head.bytes);
    this.#ends = ends;
    if (durable) this.#syncs.ask(path, fdatasync);
    return { ...head, bytes: end, seq, hash, boot: this.#mark.boot };
  }
}

/** All of it or nothing. */
function appendWhole(turn: HeldTurn, path: string, bytes: Buffer, lengthBefore: number): void {
  const fd = openSync(path, "a", 0o600);
  try {
    if (turn.isLost()) throw new TurnLost();
    for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
  } catch (error) {
    // What follows may be another's by now.
    if (!turn.isLost()) ftruncateSync(fd, lengthBefore);
    throw error;
  } finally {
    closeSync(fd);
  }
}
