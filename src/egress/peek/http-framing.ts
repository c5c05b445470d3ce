/**
 * Where each message of an HTTP/1 stream begins and ends. Heads are given out whole; bodies are counted, not read, so
 * that bulk data costs nothing per byte. It keeps no more than one unfinished head or line.
 */
import type { Buffer } from "node:buffer";
import type { Allowance } from "../limits.js";
import { HeldBytes } from "./held-bytes.js";
import type { Body } from "./http-head.js";

/** `pause`: what follows waits for `go`. `raw`: no messages follow any more. */
export type AfterHead = Body | { readonly kind: "pause" } | { readonly kind: "raw" };

interface FramingOptions {
  readonly headBytes: number;
  readonly allowance: Allowance;
  /** A text where the head is refused. */
  head(head: Buffer): AfterHead | string;
  /** What passes in place of each part; where absent, everything passes as it is. */
  readonly pass?: (part: Part, bytes: Buffer) => readonly Buffer[];
  /**
   * How lines between chunks and in trailers must end. Some servers read a chunk's extension up to CR LF, and what
   * others take for the next line belongs to it. `bare`: CR LF too, and a chunk's line is its size alone.
   */
  readonly lines: "any" | "crlf" | "bare";
}

/** `line`: of a trailer, or between chunks. */
export type Part = "head" | "line" | "data";

const LF = 10;
const CR = 13;
const MAX_CHUNK_LINE = 4096;
const BARE_CHUNK_LINE = /^([0-9a-f]{1,12})\r\n$/i;
/** A line end that is none to some servers would make one line here two there. */
const LOOSE_LINE_END = /\r(?!\n)|(?<!\r)\n/;
const CHUNK_LINE = /^([0-9a-f]{1,12})[ \t]*(?:;[^\r\n]*)?\r?\n$/i;

type State = "head" | "counted" | "chunk-line" | "chunk-end" | "trailer" | "pause" | "raw";

export class HttpFraming {
  readonly #options: FramingOptions;
  readonly #held: HeldBytes;
  #state: State = "head";
  #left = 0;
  #afterCount: State = "head";
  /** How many bytes of empty lines the held head begins with. */
  #blank = 0;
  #trailerBytes = 0;

  constructor(options: FramingOptions) {
    this.#options = options;
    this.#held = new HeldBytes(options.allowance);
  }

  get paused(): boolean {
    return this.#state === "pause";
  }

  /** No message is under way. */
  get between(): boolean {
    return this.#state === "head" && this.#held.length === 0;
  }

  /** A head or line has begun and is not whole. */
  get holding(): boolean {
    return this.#held.length > 0 && !this.paused;
  }

  release(): Buffer {
    return this.#held.take();
  }

  /** After a pause: as messages, or as bytes that are not looked at. What was held is then pushed again. */
  go(next: "head" | "raw"): Buffer {
    this.#state = next;
    return this.#held.take();
  }

  /** The parts that may pass, in order, or why the stream is refused. */
  push(chunk: Buffer): Buffer[] | string {
    const passed: Buffer[] = [];
    let rest = chunk;
    while (rest.length > 0) {
      const step = this.#step(rest, passed);
      if (typeof step === "string") return step;
      rest = step;
    }
    return passed;
  }

  /** Takes what it can of `bytes`, and returns what is left of them. */
  #step(bytes: Buffer, passed: Buffer[]): Buffer | string {
    switch (this.#state) {
      case "raw":
        this.#pass(passed, "data", bytes);
        return bytes.subarray(bytes.length);
      case "pause":
        return this.#hold(bytes);
      case "counted":
        return this.#count(bytes, passed);
      case "head":
        return this.#head(bytes, passed);
      default:
        return this.#line(bytes, passed);
    }
  }

  #pass(passed: Buffer[], part: Part, bytes: Buffer): void {
    const { pass } = this.#options;
    if (pass === undefined) passed.push(bytes);
    else passed.push(...pass(part, bytes));
  }

  #hold(bytes: Buffer): Buffer | string {
    if (this.#held.length + bytes.length > 2 * this.#options.headBytes) return "too much sent ahead of an answer";
    return this.#held.append(bytes) ? bytes.subarray(bytes.length) : "too many unfinished requests";
  }

  #count(bytes: Buffer, passed: Buffer[]): Buffer {
    const taken = Math.min(this.#left, bytes.length);
    this.#left -= taken;
    if (this.#left === 0) this.#state = this.#afterCount;
    this.#pass(passed, "data", bytes.subarray(0, taken));
    return bytes.subarray(taken);
  }

  #head(bytes: Buffer, passed: Buffer[]): Buffer | string {
    const before = this.#held.length;
    if (before > 0 && !this.#held.append(bytes)) return "too many unfinished requests";
    const all = before > 0 ? this.#held.bytes : bytes;
    while (all[this.#blank] === CR || all[this.#blank] === LF) this.#blank++;
    const end = headEnd(all, Math.max(this.#blank, before - 2));
    if ((end < 0 ? all.length : end) > this.#options.headBytes) return "too large a head";
    if (end < 0) {
      if (before === 0 && !this.#held.append(bytes)) return "too many unfinished requests";
      return bytes.subarray(bytes.length);
    }
    if (before > 0) this.#held.take();
    this.#blank = 0;
    const head = all.subarray(0, end);
    const after = this.#options.head(head);
    if (typeof after === "string") return after;
    this.#pass(passed, "head", head);
    this.#enter(after);
    return all.subarray(end);
  }

  #enter(after: AfterHead): void {
    if (after.kind === "chunked") this.#state = "chunk-line";
    else if (after.kind === "length") this.#startCount(after.bytes, "head");
    else if (after.kind === "none") this.#state = "head";
    else this.#state = after.kind === "pause" ? "pause" : "raw";
  }

  #startCount(bytes: number, then: State): void {
    this.#left = bytes;
    this.#afterCount = then;
    this.#state = bytes === 0 ? then : "counted";
  }

  #line(bytes: Buffer, passed: Buffer[]): Buffer | string {
    const end = bytes.indexOf(LF);
    const part = end < 0 ? bytes : bytes.subarray(0, end + 1);
    if (this.#held.length + part.length > MAX_CHUNK_LINE) return "too long a line between chunks";
    if (end < 0 || this.#held.length > 0) {
      if (!this.#held.append(part)) return "too many unfinished requests";
    }
    if (end < 0) return bytes.subarray(bytes.length);
    const line = this.#held.length > 0 ? this.#held.take() : part;
    const fault = this.#endLine(line);
    if (fault !== null) return fault;
    this.#pass(passed, "line", line);
    return bytes.subarray(end + 1);
  }

  #endLine(line: Buffer): string | null {
    const { lines } = this.#options;
    if (lines !== "any" && LOOSE_LINE_END.test(line.toString("latin1"))) return "a line that does not end in CR LF";
    const empty = line.length === 1 || (line.length === 2 && line[0] === CR);
    if (this.#state === "chunk-end") {
      this.#state = "chunk-line";
      return empty ? null : "a chunk longer than it said";
    }
    if (this.#state === "trailer") {
      this.#trailerBytes += line.length;
      if (empty) this.#state = "head";
      return this.#trailerBytes > this.#options.headBytes ? "too large a trailer" : null;
    }
    const size = (lines === "bare" ? BARE_CHUNK_LINE : CHUNK_LINE).exec(line.toString("latin1"))?.[1];
    if (size === undefined) return "a malformed chunk";
    const length = Number.parseInt(size, 16);
    this.#trailerBytes = 0;
    if (length === 0) this.#state = "trailer";
    else this.#startCount(length, "chunk-end");
    return null;
  }
}

/** Where the empty line after a head ends, or -1. `from` lies behind the empty lines before the head. */
function headEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}
