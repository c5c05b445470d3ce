/**
 * What the host sends, onto the socket. Everything sent within one turn of the event loop leaves in one write.
 * DATA waits while the guest does not read. Answers to the guest's own frames are counted, so that a guest that only
 * talks can be left unread before it fills the host's memory. Nothing else may stop the reading: the guest does not
 * read either while its own output is not taken, and both would wait for ever.
 */
import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { encodeDataHeader, type StreamId } from "./frame.js";

/** DATA is put on the socket only below this. */
const DATA_MARK_BYTES = 524_288;
/**
 * With more unread answers than this the guest is not read any further until it has read some. Our own guest asks for
 * no PONG, but may wait for a few answers on each of 4,096 channels; so a PONG counts as several.
 */
const MAX_UNREAD_ANSWERS = 32_768;
const PONG_WEIGHT = 8;

/** A stream that has DATA to send when there is room. */
interface WaitingStream {
  flush(frames: number): boolean;
}

export class Outbox {
  readonly #socket: Duplex;
  #corked = false;
  #unreadAnswers = 0;
  readonly #onRelief: () => void;
  /** In the order in which they get their turn. */
  readonly #waiting = new Set<WaitingStream>();

  /** `onRelief`: congestion is over. */
  constructor(socket: Duplex, onRelief: () => void) {
    this.#socket = socket;
    this.#onRelief = onRelief;
  }

  get takesData(): boolean {
    return this.#socket.writableLength < DATA_MARK_BYTES;
  }

  get congested(): boolean {
    return this.#unreadAnswers > MAX_UNREAD_ANSWERS;
  }

  waitForRoom(stream: WaitingStream): void {
    this.#waiting.add(stream);
  }

  /** The socket takes bytes again: one frame for each stream in turn, so that none keeps the others waiting. */
  drained(): void {
    while (this.#waiting.size > 0 && this.takesData) {
      const [first] = this.#waiting;
      if (first === undefined) return;
      this.#waiting.delete(first);
      if (first.flush(1)) this.#waiting.add(first);
    }
  }

  send(frame: Buffer): void {
    if (this.#cork()) this.#socket.write(frame);
  }

  /** A frame that only exists because the guest sent one. */
  answer(frame: Buffer): void {
    this.#answer(frame, 1);
  }

  pong(frame: Buffer): void {
    this.#answer(frame, PONG_WEIGHT);
  }

  #answer(frame: Buffer, weight: number): void {
    if (!this.#cork()) return;
    this.#unreadAnswers += weight;
    this.#socket.write(frame, () => {
      const wasCongested = this.congested;
      this.#unreadAnswers -= weight;
      if (wasCongested && !this.congested) this.#onRelief();
    });
  }

  /** The payload is not copied; it belongs to the socket until it is written, which `left` tells. */
  sendData(channel: number, stream: StreamId, payload: Buffer, left?: () => void): void {
    if (!this.#cork()) {
      left?.();
      return;
    }
    this.#socket.write(encodeDataHeader(channel, stream, payload.length));
    this.#socket.write(payload, left);
  }

  #cork(): boolean {
    if (!this.#socket.writable) return false;
    if (!this.#corked) {
      this.#corked = true;
      this.#socket.cork();
      process.nextTick(() => {
        this.#corked = false;
        this.#socket.uncork();
      });
    }
    return true;
  }
}
