/** A client's stdin. The client reads no more of it than was asked for here, which is what somebody here reads. */
import type { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import type { StandardInput } from "../../invocation/index.js";

const WINDOW_BYTES = 262_144;

interface InputLink {
  readonly isTerminal: boolean;
  readonly hasInput: boolean;
  grant(bytes: number): void;
  /** Nobody reads it any more. */
  stop(): void;
  makeRaw(isRaw: boolean): void;
}

export class ClientInput implements StandardInput {
  readonly isTerminal: boolean;
  readonly #link: InputLink;
  #stream: Readable | null = null;
  #granted = 0;
  #isOver = false;

  constructor(link: InputLink) {
    this.#link = link;
    this.isTerminal = link.isTerminal;
  }

  open(): Readable | null {
    if (!this.#link.hasInput) return null;
    this.#stream = new Readable({
      read: () => this.#ask(),
      destroy: (error, done) => {
        if (!this.#isOver) this.#link.stop();
        this.#isOver = true;
        done(error);
      },
    });
    return this.#stream;
  }

  makeRaw(): () => void {
    if (!this.isTerminal) return () => {};
    this.#link.makeRaw(true);
    let isRaw = true;
    return () => {
      if (isRaw) this.#link.makeRaw(false);
      isRaw = false;
    };
  }

  take(piece: Buffer): void {
    this.#granted -= piece.length;
    if (this.#granted < 0) throw new RangeError("the client sent more than was asked for");
    if (!this.#isOver) this.#stream?.push(piece);
  }

  end(): void {
    if (!this.#isOver) this.#stream?.push(null);
    this.#isOver = true;
  }

  #ask(): void {
    const more = WINDOW_BYTES - this.#granted;
    if (this.#isOver || more < WINDOW_BYTES / 2) return;
    this.#granted += more;
    this.#link.grant(more);
  }
}
