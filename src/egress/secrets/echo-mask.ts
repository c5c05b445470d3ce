/**
 * Takes secrets out of what a server sends back. In heads and other lines the placeholder takes their place; in bodies
 * as many bytes as the secret has, so that no length that was announced becomes wrong.
 *
 * The end of all data waits until as many bytes follow as the longest form has, however long that takes: a server that
 * pauses within a secret would get its first part through otherwise. What waits must not depend on the secret either:
 * data held back because it might begin one would let a sandbox, which can have a host send it what it likes, guess the
 * secret letter by letter. So only whole secrets ever make a difference, and what every secret lacks: a value and its
 * forms are printable ASCII, and whatever lies before another byte (the line feed of an event or of a line of JSON)
 * cannot continue, and passes at once.
 */
import { Buffer } from "node:buffer";
import type { BoundSecret } from "./bound-secret.js";
import { writtenForms } from "./written-forms.js";

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
/** How much waits is a multiple of this, which does not tell how long the secret is. */
const HELD_STEP = 256;

export class EchoMask {
  readonly #needles: readonly Needle[];
  readonly #held: number;
  #waiting: Piece[] = [];
  #overfull = false;

  constructor(secrets: readonly BoundSecret[]) {
    const needles = secrets.flatMap(({ value, placeholder }) => writtenForms(value.reveal(), placeholder).map(needle));
    this.#needles = needles.sort((a, b) => b.bytes.length - a.bytes.length);
    const longest = this.#needles[0]?.bytes.length ?? 0;
    this.#held = Math.ceil(longest / HELD_STEP) * HELD_STEP;
  }

  /** More lines between chunks wait than may be held. Letting them go would let a secret go that is cut by them. */
  get overfull(): boolean {
    return this.#overfull;
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
    this.#overfull ||= lines > MAX_WAITING_LINES;
    return [];
  }

  /** Part of a body, of which more may follow. */
  data(bytes: Buffer): Buffer[] {
    const pieces = [...this.#waiting, { bytes, data: true }];
    const parts = pieces.filter((piece) => piece.data).map((piece) => piece.bytes);
    const all = this.whole(parts.length === 1 ? bytes : Buffer.concat(parts));
    const { passed, waiting } = split(pieces, all, Math.max(boundary(all), all.length - this.#held));
    this.#waiting = waiting;
    return passed;
  }

  /** Data that waits for nothing, and in which a secret is found only if all of it is there. */
  whole(bytes: Buffer): Buffer {
    let result = bytes;
    for (const { bytes: wanted, mask } of this.#needles) {
      for (let at = result.indexOf(wanted); at >= 0; at = result.indexOf(wanted, at + wanted.length)) {
        if (result === bytes) result = Buffer.from(bytes);
        mask.copy(result, at);
      }
    }
    return result;
  }

  /** What waits, as it is: nothing follows it. */
  flush(): Buffer[] {
    const bytes = this.#waiting.map((piece) => piece.bytes);
    this.#waiting = [];
    return bytes;
  }
}

/** What lies before the last byte that no secret has, with that byte. */
function boundary(bytes: Buffer): number {
  let end = bytes.length;
  while (end > 0 && isPrintable(bytes[end - 1])) end--;
  return end;
}

function isPrintable(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x20 && byte <= 0x7e;
}

/** The pieces with their data replaced by `all`, of which the first `count` bytes pass with what lies before them. */
function split(pieces: readonly Piece[], all: Buffer, count: number): { passed: Buffer[]; waiting: Piece[] } {
  const passed: Buffer[] = [];
  const waiting: Piece[] = [];
  let at = 0;
  for (const piece of pieces) {
    if (!piece.data) {
      if (waiting.length === 0) passed.push(piece.bytes);
      else waiting.push(piece);
      continue;
    }
    const bytes = all.subarray(at, at + piece.bytes.length);
    const now = Math.min(bytes.length, Math.max(0, count - at));
    at += bytes.length;
    if (now > 0) passed.push(bytes.subarray(0, now));
    if (now < bytes.length) waiting.push({ bytes: bytes.subarray(now), data: true });
  }
  return { passed, waiting };
}

function needle({ real, inside }: { readonly real: string; readonly inside: string }): Needle {
  const bytes = Buffer.from(real, "latin1");
  const mask = Buffer.from(inside.padEnd(bytes.length, "*").slice(0, bytes.length), "latin1");
  return { bytes, mask, text: real, inside };
}
