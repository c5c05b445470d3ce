/**
 * Finds the escape sequences in what a program writes to its terminal, however it is cut into pieces. It understands
 * where they begin and end and no more; what they mean is for others. Text is skipped at the speed of a search.
 */
import type { Buffer } from "node:buffer";

/** `csi`: `ESC [`. `string`: OSC, DCS and the like, which carry text. `escape`: all other ones. */
export interface Sequence {
  readonly kind: "csi" | "string" | "escape";
  /** What follows the escape character, without the end of a string. */
  readonly body: string;
  /** Where it lies in this piece; a start below zero was in an earlier one. */
  readonly start: number;
  readonly end: number;
}

const ESC = 0x1b;
const BEL = 0x07;
const CANCEL = 0x18;
const SUBSTITUTE = 0x1a;

/** A longer one is not told of: none that matters here is. */
const MOST_BYTES = 256;

type State = "text" | "escape" | "csi" | "string" | "string-escape";

export class EscapeScanner {
  #state: State = "text";
  #body = "";
  /** Bytes of the sequence in earlier pieces. */
  #before = 0;

  /** In the middle of one. */
  get isInside(): boolean {
    return this.#state !== "text";
  }

  scan(bytes: Buffer, found: (sequence: Sequence) => void): void {
    let start = -this.#before;
    for (let at = 0; at < bytes.length; at++) {
      if (this.#state === "text") {
        at = bytes.indexOf(ESC, at);
        if (at < 0) break;
        start = at;
        this.#state = "escape";
        this.#body = "";
        continue;
      }
      const byte = bytes[at] ?? 0;
      const kind = this.#step(byte);
      if (byte === ESC && this.#state === "escape") start = at;
      if (kind !== null && this.#body.length <= MOST_BYTES) found({ kind, body: this.#body, start, end: at + 1 });
    }
    this.#before = this.isInside ? bytes.length - start : 0;
  }

  /** Not null when the sequence ends with this byte. */
  #step(byte: number): Sequence["kind"] | null {
    if (this.#state === "string" || this.#state === "string-escape") return this.#stepString(byte);
    if (byte === CANCEL || byte === SUBSTITUTE) return this.#abort();
    if (byte === ESC) {
      this.#state = "escape";
      this.#body = "";
      return null;
    }
    // Other control characters are obeyed in the middle of a sequence, and are no part of it.
    if (byte < 0x20) return null;
    this.#keep(byte);
    if (this.#state === "csi") return byte >= 0x40 && byte <= 0x7e ? this.#finish("csi") : null;
    if (this.#body === "[") this.#state = "csi";
    else if (this.#body.length === 1 && "]PX^_".includes(this.#body)) this.#state = "string";
    else if (byte >= 0x30) return this.#finish("escape");
    return null;
  }

  #stepString(byte: number): Sequence["kind"] | null {
    if (byte === CANCEL || byte === SUBSTITUTE) return this.#abort();
    if (this.#state === "string-escape") {
      if (byte === 0x5c) return this.#finish("string");
      // Not its end, so the beginning of another one.
      this.#state = "escape";
      this.#body = "";
      return this.#step(byte);
    }
    if (byte === BEL) return this.#finish("string");
    if (byte === ESC) this.#state = "string-escape";
    else this.#keep(byte);
    return null;
  }

  #keep(byte: number): void {
    if (this.#body.length <= MOST_BYTES) this.#body += String.fromCharCode(byte);
  }

  #finish(kind: Sequence["kind"]): Sequence["kind"] {
    this.#state = "text";
    return kind;
  }

  #abort(): null {
    this.#state = "text";
    return null;
  }
}
