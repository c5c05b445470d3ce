/**
 * One output stream of a client. The client tells how much it has written; only a window's worth may be on its way, so a
 * slow reader holds the writer back and fills nobody's memory.
 */
import { Buffer } from "node:buffer";
import { Writable } from "node:stream";
import { getSystemErrorName } from "node:util";
import type { AgentKernelError } from "../../core/errors.js";
import type { TerminalSize } from "../../core/exec.js";
import type { CommandOutput, StandardOutput } from "../../invocation/index.js";
import { unwritable } from "../../invocation/unwritable.js";

export const OUTPUT_WINDOW_BYTES = 1 << 20;
const FRAME_BYTES = 262_144;

interface OutputLink {
  readonly stream: 1 | 2;
  readonly isTerminal: boolean;
  size(): TerminalSize | null;
  onResize(listener: () => void): () => void;
  /** The bytes are lent until `sent`. */
  send(stream: 1 | 2, bytes: Buffer, sent: () => void): void;
}

interface Piece {
  readonly bytes: Buffer;
  readonly sent: () => void;
}

interface Waiter {
  /** How many bytes of the whole stream must have been written. */
  readonly upTo: number;
  readonly settle: (error: NodeJS.ErrnoException | null) => void;
}

export class ClientOutput implements StandardOutput {
  readonly isTerminal: boolean;
  readonly #link: OutputLink;
  readonly #queue: Piece[] = [];
  readonly #closedListeners: (() => void)[] = [];
  #waiters: Waiter[] = [];
  #taken = 0;
  #sent = 0;
  #written = 0;
  /** Why nothing more can be written; null while it can. */
  #errno: number | null = null;
  #error: NodeJS.ErrnoException | null = null;

  constructor(link: OutputLink) {
    this.#link = link;
    this.isTerminal = link.isTerminal;
  }

  /** Made when it is asked for: every output is closed in the end, and an error takes a while to make. */
  get #failure(): NodeJS.ErrnoException | null {
    if (this.#errno === null) return null;
    const code = errorName(this.#errno);
    this.#error ??= Object.assign(new Error(`${code}: write`), { code });
    return this.#error;
  }

  size(): TerminalSize | null {
    return this.isTerminal ? this.#link.size() : null;
  }

  onResize(listener: () => void): () => void {
    return this.isTerminal ? this.#link.onResize(listener) : () => {};
  }

  write(text: string): Promise<NodeJS.ErrnoException | null> {
    this.#push(Buffer.from(text), () => {});
    return this.#allWritten();
  }

  onClosed(listener: () => void): void {
    if (this.#errno !== null) listener();
    else this.#closedListeners.push(listener);
  }

  open(onClosed: (why: AgentKernelError | null) => void): CommandOutput {
    let finish: () => void = () => {};
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let isAbandoned = false;
    this.onClosed(() => {
      if (isAbandoned) return;
      const { code } = this.#failure ?? {};
      onClosed(code === "EPIPE" ? null : unwritable(this.#link.stream, code, this.#failure));
    });
    return {
      done,
      sink: {
        write: (chunk, taken) => (isAbandoned ? taken() : this.#push(chunk, taken)),
        end: () => void this.#allWritten().then(finish),
      },
      abandon: () => {
        isAbandoned = true;
        this.#drop();
        finish();
      },
    };
  }

  stream(): Writable {
    return new Writable({
      write: (chunk: Buffer, _, done) => this.#push(chunk, () => done(this.#failure)),
      final: (done) => void this.#allWritten().then(done),
    });
  }

  /** The client has written this many more bytes. */
  credit(bytes: number): void {
    this.#written += bytes;
    if (this.#written > this.#sent) throw new RangeError("the client has written more than it was sent");
    this.#pump();
    const settled = this.#waiters.filter(({ upTo }) => upTo <= this.#written);
    this.#waiters = this.#waiters.filter(({ upTo }) => upTo > this.#written);
    for (const { settle } of settled) settle(null);
  }

  /** Nothing more can be written, for the reason that the number stands for. */
  close(errno: number): void {
    if (this.#errno !== null) return;
    this.#errno = errno;
    this.#drop();
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { settle } of waiters) settle(this.#failure);
    for (const listener of this.#closedListeners) listener();
  }

  #push(bytes: Buffer, sent: () => void): void {
    if (this.#errno !== null || bytes.length === 0) {
      sent();
      return;
    }
    this.#taken += bytes.length;
    this.#queue.push({ bytes, sent });
    this.#pump();
  }

  #pump(): void {
    for (let piece = this.#queue[0]; piece !== undefined; piece = this.#queue[0]) {
      const room = Math.min(FRAME_BYTES, OUTPUT_WINDOW_BYTES - (this.#sent - this.#written));
      if (room <= 0) return;
      const { bytes, sent } = piece;
      const part = bytes.subarray(0, room);
      this.#sent += part.length;
      if (part.length === bytes.length) {
        this.#queue.shift();
        this.#link.send(this.#link.stream, part, sent);
      } else {
        this.#queue[0] = { bytes: bytes.subarray(part.length), sent };
        this.#link.send(this.#link.stream, part, () => {});
      }
    }
  }

  /** Discards what has not been sent yet. */
  #drop(): void {
    for (const { bytes, sent } of this.#queue.splice(0)) {
      this.#taken -= bytes.length;
      sent();
    }
  }

  #allWritten(): Promise<NodeJS.ErrnoException | null> {
    if (this.#errno !== null || this.#written === this.#taken) return Promise.resolve(this.#failure);
    return new Promise((settle) => this.#waiters.push({ upTo: this.#taken, settle }));
  }
}

function errorName(errno: number): string {
  try {
    return getSystemErrorName(-errno);
  } catch {
    return `error ${errno}`;
  }
}
