/** Sends a user's typing to a terminal of a sandbox, no faster than it is read there, until the detach keys. */
import type { Buffer } from "node:buffer";
import type { Readable } from "node:stream";
import { DetachKeys } from "./detach-keys.js";

/** The first of the keys is also one that programs use: alone, it is passed on after so long. */
const KEY_WAIT_MS = 500;

interface KeyboardParts {
  readonly input: Readable;
  readonly detachKeys: readonly number[];
  /** False: no more until `resume`. */
  readonly type: (bytes: Buffer) => boolean;
  /** The user wants to leave, or cannot type any more. */
  readonly onLeave: () => void;
}

export class Keyboard {
  readonly #parts: KeyboardParts;
  readonly #keys: DetachKeys;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(parts: KeyboardParts) {
    this.#parts = parts;
    this.#keys = new DetachKeys(parts.detachKeys);
    const { input } = parts;
    input.on("data", (chunk: Buffer) => this.#take(chunk));
    input.once("end", () => this.#leave());
    input.once("error", () => this.#leave());
  }

  resume(): void {
    if (!this.#isOver) this.#parts.input.resume();
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#parts.input.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    const { bytes, isDetached } = this.#keys.take(chunk);
    this.#type(bytes);
    if (isDetached) this.#leave();
    else if (this.#keys.isHolding) this.#timer = setTimeout(() => this.#type(this.#keys.letGo()), KEY_WAIT_MS);
  }

  #type(bytes: Buffer): void {
    if (bytes.length > 0 && !this.#parts.type(bytes)) this.#parts.input.pause();
  }

  #leave(): void {
    if (this.#isOver) return;
    this.stop();
    this.#parts.onLeave();
  }
}
