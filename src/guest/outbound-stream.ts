/** One stream from the host to the guest, with its credit. Holds what the caller wrote and may not be sent yet. */
import type { Buffer } from "node:buffer";
import { encodeFrame, FrameType, MAX_CREDIT_BYTES, MAX_DATA_BYTES, Stream } from "./frame.js";
import type { Outbox } from "./outbox.js";
import { GuestViolation } from "./violation.js";

/** One write. Its bytes leave in one or more frames; those already sent belong to the socket. */
class Piece {
  unsent: Buffer;
  #framesAway = 0;
  #isOver = false;
  readonly #left: (() => void) | undefined;

  /** `left` is called when its last byte has left this process, or never will. */
  constructor(chunk: Buffer, left: (() => void) | undefined) {
    this.unsent = chunk;
    this.#left = left;
  }

  /** The next bytes, and what to call when they have left. */
  take(length: number): { readonly part: Buffer; readonly left: () => void } {
    const part = this.unsent.subarray(0, length);
    this.unsent = this.unsent.subarray(length);
    this.#framesAway++;
    if (this.unsent.length === 0) this.#isOver = true;
    return {
      part,
      left: () => {
        this.#framesAway--;
        this.#settle();
      },
    };
  }

  /** Discards what is unsent. */
  drop(): void {
    this.#isOver = true;
    this.#settle();
  }

  #settle(): void {
    if (this.#isOver && this.#framesAway === 0) this.#left?.();
  }
}

export class OutboundStream {
  readonly #channel: number;
  readonly #outbox: Outbox;
  #creditBytes: number;
  readonly #queue: Piece[] = [];
  #queuedBytes = 0;
  #sentBytes = 0;
  /** `ending`: EOF follows what is queued. `over`: EOF is sent, or nobody is there to read. */
  #state: "open" | "ending" | "over" = "open";
  #owesDrain = false;
  readonly #drainListeners: (() => void)[] = [];

  constructor(channel: number, creditBytes: number, outbox: Outbox) {
    this.#channel = channel;
    this.#creditBytes = creditBytes;
    this.#outbox = outbox;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  get sentBytes(): number {
    return this.#sentBytes;
  }

  get eofSent(): boolean {
    return this.#state === "over";
  }

  /** Called whenever all that was refused with false has been taken. */
  onDrain(listener: () => void): void {
    this.#drainListeners.push(listener);
  }

  /** As onDrain, for the next time only. */
  onceDrained(listener: () => void): void {
    const once = () => {
      this.#drainListeners.splice(this.#drainListeners.indexOf(once), 1);
      listener();
    };
    this.#drainListeners.push(once);
  }

  /**
   * The chunk is not copied: it must not change afterwards. False: wait for drain before writing more.
   * When nobody reads any more the bytes are dropped, as they are for a command that does not read them.
   * After `left` the chunk may be used again.
   */
  write(chunk: Buffer, left?: () => void): boolean {
    if (this.#state === "ending") throw new TypeError("write after end");
    if (this.#state === "over" || chunk.length === 0) {
      left?.();
      return true;
    }
    this.#queue.push(new Piece(chunk, left));
    this.#queuedBytes += chunk.length;
    this.#flushOrWait();
    this.#owesDrain = this.#queuedBytes > 0;
    return !this.#owesDrain;
  }

  end(): void {
    if (this.#state !== "open") return;
    this.#state = "ending";
    this.#flushOrWait();
  }

  grant(bytes: number): void {
    if (this.#state === "over") return;
    if (this.#creditBytes + bytes > MAX_CREDIT_BYTES) {
      throw new GuestViolation("bad-credit", "more credit than 2^31 - 1 bytes on one stream");
    }
    this.#creditBytes += bytes;
    this.#flushOrWait();
  }

  #flushOrWait(): void {
    if (this.flush()) this.#outbox.waitForRoom(this);
  }

  /** Sends what may be sent, at most so many frames. True: more could be sent if the socket took it. */
  flush(frames = Number.POSITIVE_INFINITY): boolean {
    for (let sent = 0; sent < frames && this.#canSend && this.#outbox.takesData; sent++) {
      const head = this.#queue[0];
      if (head === undefined) break;
      const length = Math.min(head.unsent.length, this.#creditBytes, MAX_DATA_BYTES);
      const { part, left } = head.take(length);
      if (head.unsent.length === 0) this.#queue.shift();
      this.#queuedBytes -= length;
      this.#creditBytes -= length;
      this.#sentBytes += length;
      this.#outbox.sendData(this.#channel, Stream.in, part, left);
    }
    if (this.#queuedBytes > 0) return this.#canSend;
    if (this.#state === "ending") {
      this.#state = "over";
      this.#outbox.send(encodeFrame(FrameType.eof, this.#channel, Stream.in));
    }
    this.#drained();
    // Whoever was let go may have written more.
    return this.#canSend;
  }

  get #canSend(): boolean {
    return this.#queuedBytes > 0 && this.#creditBytes > 0;
  }

  /** The channel is over: whoever waits to write more is let go. */
  stop(): void {
    this.#state = "over";
    const dropped = this.#queue.splice(0);
    this.#queuedBytes = 0;
    for (const piece of dropped) piece.drop();
    this.#drained();
  }

  #drained(): void {
    if (!this.#owesDrain) return;
    this.#owesDrain = false;
    for (const listener of [...this.#drainListeners]) listener();
  }
}
