/**
 * Follows what a TLS client sends until no server name can follow any more: the ClientHello over however many records
 * and segments, and the second one that a server may ask for. What was not checked yet is held back.
 */
import type { Buffer } from "node:buffer";
import type { Allowance } from "../limits.js";
import { type ClientHello, parseClientHello } from "./client-hello.js";
import { HeldBytes } from "./held-bytes.js";

const HEADER = 5;
const MAX_RECORD = 16_384 + 2_048;
const CHANGE_CIPHER = 20;
const ALERT = 21;
const HANDSHAKE = 22;
const APPLICATION = 23;
const CLIENT_HELLO = 1;
/** More early data than any server takes before it has asked for a second hello. */
const MAX_EARLY_BYTES = 1_048_576;

interface TlsWatchOptions {
  readonly helloBytes: number;
  readonly allowance: Allowance;
  /** Why this hello is refused, or null. */
  check(hello: ClientHello): string | null;
}

export class TlsWatch {
  readonly #options: TlsWatchOptions;
  /** Whole and partial records that were not let through. */
  readonly #held: HeldBytes;
  /** The handshake message out of them. */
  readonly #message: HeldBytes;
  /** How far they are read; beyond their end within a record that is let through unread. */
  #at = 0;
  #phase: "hello" | "after" | "settled" = "hello";
  #hellos = 0;
  #early = false;
  #earlyBytes = 0;

  constructor(options: TlsWatchOptions) {
    this.#options = options;
    this.#held = new HeldBytes(options.allowance);
    this.#message = new HeldBytes(options.allowance);
  }

  get settled(): boolean {
    return this.#phase === "settled";
  }

  /** A hello has begun and is not whole. */
  get holding(): boolean {
    return this.#phase === "hello";
  }

  /** Bytes that may go on to the server, or why none may. */
  push(chunk: Buffer): Buffer | string {
    if (!this.#held.append(chunk)) return "too many unfinished handshakes";
    const fault = this.#read();
    if (fault !== null) return fault;
    if (this.#phase === "settled") return this.#held.take();
    return this.#phase === "after" ? this.#takeRead() : this.#held.bytes.subarray(0, 0);
  }

  release(): void {
    this.#held.take();
    this.#message.take();
  }

  #takeRead(): Buffer {
    const all = this.#held.take();
    const read = Math.min(this.#at, all.length);
    this.#at -= read;
    const rest = all.subarray(read);
    if (rest.length > 0) this.#held.append(rest);
    return all.subarray(0, read);
  }

  #read(): string | null {
    const bytes = this.#held.bytes;
    while (this.#phase !== "settled") {
      const left = bytes.length - this.#at;
      if (left < HEADER + 1) break;
      const type = bytes[this.#at];
      const length = bytes.readUInt16BE(this.#at + 3);
      if (this.#phase === "hello") {
        if (type !== HANDSHAKE || length === 0 || length > MAX_RECORD) return "a malformed ClientHello";
        if (left < HEADER + length) break;
        const payload = bytes.subarray(this.#at + HEADER, this.#at + HEADER + length);
        this.#at += HEADER + length;
        const fault = this.#takePayload(payload);
        if (fault !== null) return fault;
      } else this.#follow(type, length, bytes[this.#at + HEADER]);
    }
    return this.#phase === "hello" && bytes.length > this.#options.helloBytes ? "too large a ClientHello" : null;
  }

  #takePayload(payload: Buffer): string | null {
    if (!this.#message.append(payload)) return "too many unfinished handshakes";
    const message = this.#message.bytes;
    if (message[0] !== CLIENT_HELLO) return "a handshake that begins with no ClientHello";
    if (message.length < 4) return null;
    const length = message.readUIntBE(1, 3);
    if (length + 4 > this.#options.helloBytes) return "too large a ClientHello";
    if (message.length < length + 4) return null;
    if (message.length > length + 4) return "bytes after the ClientHello";
    const hello = parseClientHello(message.subarray(4));
    if (typeof hello === "string") return `a malformed ClientHello: ${hello}`;
    const refused = this.#options.check(hello);
    if (refused !== null) return refused;
    this.#message.take();
    this.#hellos++;
    this.#early = hello.earlyData;
    this.#phase = this.#hellos < 2 ? "after" : "settled";
    return null;
  }

  #follow(type: number | undefined, length: number, first: number | undefined): void {
    // None of these names a server, and servers read on behind them.
    if (type === CHANGE_CIPHER || type === ALERT || length === 0) this.#at += HEADER + length;
    else if (type === HANDSHAKE && first === CLIENT_HELLO) this.#phase = "hello";
    else if (type === APPLICATION && this.#early && this.#earlyBytes < MAX_EARLY_BYTES) {
      this.#earlyBytes += length;
      this.#at += HEADER + length;
    } else this.#phase = "settled";
  }
}
