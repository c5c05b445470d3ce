/**
 * Takes secrets out of what a server sends back. In heads and other lines the placeholder takes their place; in bodies
 * as many bytes as the secret has, so that no length that was announced becomes wrong.
 *
 * It finds a secret as it was sent, as a JSON string or URL has it, and in credentials of this connection; also across
 * chunks and segments. It does not find one that a server packed or coded otherwise, or sent in parts of which the
 * next came too late: the host knows the secret, and one that wants to tell it can.
 */
import { Buffer } from "node:buffer";
import type { BoundSecret } from "./bound-secret.js";

interface Needle {
  readonly bytes: Buffer;
  readonly mask: Buffer;
  readonly text: string;
  readonly inside: string;
}

interface Piece {
  readonly bytes: Buffer;
  readonly data: boolean;
}

/** Lines between chunks that wait with the data around them. */
const MAX_WAITING_LINES = 65_536;

export class EchoMask {
  #needles: readonly Needle[];
  /** From the first byte that may begin a secret. Never as much data as the longest secret. */
  #waiting: Piece[] = [];

  constructor(secrets: readonly BoundSecret[]) {
    this.#needles = longestFirst(
      secrets.flatMap(({ value, placeholder }) => formsOf(value.reveal()).map((form) => needle(form, placeholder))),
    );
  }

  /** Something waits for what follows it. */
  get holding(): boolean {
    return this.#waiting.length > 0;
  }

  /** Also look for this, which was sent. */
  add(real: string, inside: string): void {
    if (!this.#needles.some((known) => known.text === real)) {
      this.#needles = longestFirst([...this.#needles, needle(real, inside)]);
    }
  }

  /** A head, or a line of a trailer or between chunks. */
  line(bytes: Buffer): Buffer {
    if (!this.#needles.some((one) => bytes.includes(one.bytes))) return bytes;
    const text = this.#needles.reduce((left, one) => left.replaceAll(one.text, one.inside), bytes.toString("latin1"));
    return Buffer.from(text, "latin1");
  }

  /** A line that stays in its place between the data around it. */
  between(bytes: Buffer): Buffer[] {
    const line = this.line(bytes);
    if (this.#waiting.length === 0) return [line];
    this.#waiting.push({ bytes: line, data: false });
    const lines = this.#waiting.reduce((sum, piece) => sum + (piece.data ? 0 : piece.bytes.length), 0);
    return lines > MAX_WAITING_LINES ? this.flush() : [];
  }

  data(bytes: Buffer): Buffer[] {
    const pieces = [...this.#waiting, { bytes, data: true }];
    const parts = pieces.filter((piece) => piece.data).map((piece) => piece.bytes);
    const all = this.#masked(parts.length === 1 ? bytes : Buffer.concat(parts));
    const { passed, waiting } = split(pieces, all, all.length - this.#begun(all));
    this.#waiting = waiting;
    return passed;
  }

  /** What waits, as it is: nothing follows it. */
  flush(): Buffer[] {
    const bytes = this.#waiting.map((piece) => piece.bytes);
    this.#waiting = [];
    return bytes;
  }

  #masked(bytes: Buffer): Buffer {
    let result = bytes;
    for (const { bytes: wanted, mask } of this.#needles) {
      for (let at = result.indexOf(wanted); at >= 0; at = result.indexOf(wanted, at + wanted.length)) {
        if (result === bytes) result = Buffer.from(bytes);
        mask.copy(result, at);
      }
    }
    return result;
  }

  /** How many bytes at the end are the beginning of a secret. */
  #begun(bytes: Buffer): number {
    return Math.max(0, ...this.#needles.map((one) => overlap(bytes, one.bytes)));
  }
}

function overlap(bytes: Buffer, wanted: Buffer): number {
  const first = wanted[0] ?? 0;
  for (let at = bytes.indexOf(first, Math.max(0, bytes.length - wanted.length + 1)); at >= 0; ) {
    const length = bytes.length - at;
    if (bytes.compare(wanted, 0, length, at) === 0) return length;
    at = bytes.indexOf(first, at + 1);
  }
  return 0;
}

/** The pieces with their data replaced by `all`, of which the first `count` bytes pass with what lies before them. */
function split(pieces: readonly Piece[], all: Buffer, count: number): { passed: Buffer[]; waiting: Piece[] } {
  const passed: Buffer[] = [];
  const waiting: Piece[] = [];
  let at = 0;
  for (const piece of pieces) {
    const size = piece.data ? piece.bytes.length : 0;
    const now = Math.min(size, Math.max(0, count - at));
    const bytes = piece.data ? all.subarray(at, at + size) : piece.bytes;
    at += size;
    if (!piece.data) {
      if (waiting.length === 0) passed.push(bytes);
      else waiting.push(piece);
      continue;
    }
    if (now > 0) passed.push(bytes.subarray(0, now));
    if (now < size) waiting.push({ bytes: bytes.subarray(now), data: true });
  }
  return { passed, waiting };
}

function formsOf(value: string): string[] {
  return [...new Set([value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)])];
}

function needle(real: string, inside: string): Needle {
  const bytes = Buffer.from(real, "latin1");
  return {
    bytes,
    mask: Buffer.from(inside.padEnd(bytes.length, "*").slice(0, bytes.length), "latin1"),
    text: real,
    inside,
  };
}

function longestFirst(needles: readonly Needle[]): Needle[] {
  return [...needles].sort((a, b) => b.bytes.length - a.bytes.length);
}
