/**
 * Channels that the guest opened and the host answers. The host says the last word on each: FAILED, or CLOSE. What
 * the guest sent before it saw that word is dropped. The first windows are small, for there may be thousands.
 */
import type { Duplex } from "node:stream";
import type { OutgoingRefusal } from "../core/egress.js";
import type { AgentKernelError } from "../core/errors.js";
import { ChannelStream } from "./channel-stream.js";
import { encodeCredit, encodeJson, FrameType, GUEST_CHANNEL_WINDOW_BYTES, Stream, type StreamId } from "./frame.js";
import { InboundStream } from "./inbound-stream.js";
import type { JsonObject } from "./json.js";
import { readCloseRefusal } from "./messages.js";
import { OutboundStream } from "./outbound-stream.js";
import type { Outbox } from "./outbox.js";
import { GuestViolation } from "./violation.js";
import type { WindowPool } from "./window-pool.js";

/** The part of its session that a channel of the guest's uses. */
export interface GuestChannelSession {
  readonly outbox: Outbox;
  readonly pool: WindowPool;
  /** How far the window of one stream may grow. */
  readonly maxWindowBytes: number;
  sinkFault(error: unknown): void;
  ended(id: number): void;
}

/** The frames that may come on a channel that the guest opened. */
export interface GuestChannel {
  receiveDataStart(stream: StreamId, length: number): InboundStream;
  receiveEof(stream: StreamId): void;
  receiveCredit(stream: StreamId, bytes: number): void;
  /** The guest gave up. */
  receiveClose(body: JsonObject): void;
  /** The session is over. */
  lose(error: AgentKernelError): void;
}

/** Copies input out of the read buffer: the reader may take its time. */
const NO_LEASE = { hold: () => null };

/** A connection of a program in the sandbox, as a stream for the gateway. */
export class OutgoingChannel implements GuestChannel {
  readonly stream: Duplex;
  readonly #id: number;
  readonly #home: GuestChannelSession;
  readonly #inbound: InboundStream;
  readonly #outbound: OutboundStream;
  #state: "asked" | "open" | "over" = "asked";

  constructor(id: number, session: GuestChannelSession) {
    this.#id = id;
    this.#home = session;
    this.#inbound = new InboundStream({
      windowBytes: GUEST_CHANNEL_WINDOW_BYTES,
      maxWindowBytes: session.maxWindowBytes,
      pool: session.pool,
      lease: NO_LEASE,
      grant: (bytes) => {
        if (this.#state !== "over") session.outbox.answer(encodeCredit(id, Stream.out, bytes));
      },
      sinkFault: (error) => session.sinkFault(error),
    });
    // Nothing may be sent before OPENED.
    this.#outbound = new OutboundStream(id, 0, session.outbox);
    this.stream = new ChannelStream({
      inbound: this.#inbound,
      outbound: this.#outbound,
      writeAheadBytes: GUEST_CHANNEL_WINDOW_BYTES,
      beforeSend: () => this.accept(),
      // Once all that it sends is sent, whoever lets go has only stopped listening.
      released: (error) => this.#end(error || !this.#outbound.eofSent ? RESET : null),
    });
    // A connection that was cut off concerns whoever uses the stream; here its end is all there is to know.
    this.stream.on("error", () => {});
  }

  /** Bytes may flow. */
  accept(): void {
    if (this.#state !== "asked") return;
    this.#state = "open";
    this.#home.outbox.answer(encodeJson(FrameType.opened, this.#id, {}));
    this.#outbound.grant(GUEST_CHANNEL_WINDOW_BYTES);
  }

  refuse(refusal: OutgoingRefusal): void {
    this.#end(refusal);
    this.stream.destroy();
  }

  receiveDataStart(stream: StreamId, length: number): InboundStream {
    this.#check(stream, Stream.out);
    this.#inbound.reserve(length);
    return this.#inbound;
  }

  receiveEof(stream: StreamId): void {
    this.#check(stream, Stream.out);
    this.#inbound.finish();
  }

  receiveCredit(stream: StreamId, bytes: number): void {
    this.#check(stream, Stream.in);
    if (this.#state === "asked")
      throw new GuestViolation("before-opened", `CREDIT on channel ${this.#id} before OPENED`);
    this.#outbound.grant(bytes);
  }

  receiveClose(body: JsonObject): void {
    readCloseRefusal(body);
    this.#end(this.#state === "asked" ? ABANDONED : null);
    this.stream.destroy(connectionReset());
  }

  lose(error: AgentKernelError): void {
    this.#state = "over";
    this.stream.destroy(error);
  }

  /** The last word: `why` when something went wrong. */
  #end(why: OutgoingRefusal | { readonly code: "reset"; readonly message: string } | null): void {
    if (this.#state === "over") return;
    const wasAsked = this.#state === "asked";
    this.#state = "over";
    this.#home.outbox.answer(
      wasAsked
        ? encodeJson(FrameType.failed, this.#id, why ?? ABANDONED)
        : encodeJson(FrameType.close, this.#id, why ?? {}),
    );
    this.#outbound.stop();
    this.#inbound.abort();
    this.#home.ended(this.#id);
  }

  #check(stream: StreamId, expected: StreamId): void {
    if (stream !== expected) throw new GuestViolation("wrong-stream", `stream ${stream} of channel ${this.#id}`);
  }
}

const RESET = { code: "reset", message: "the connection was cut off" } as const;
const ABANDONED: OutgoingRefusal = { code: "failed", message: "given up before it was answered" };

function connectionReset(): Error {
  return Object.assign(new Error("the connection was reset in the sandbox"), { code: "ECONNRESET" });
}

/** A name that the guest asked about; it has no streams. */
export class LookupChannel implements GuestChannel {
  readonly #id: number;
  readonly #home: GuestChannelSession;
  #over = false;

  constructor(id: number, session: GuestChannelSession) {
    this.#id = id;
    this.#home = session;
  }

  answer(families: { readonly ipv4: boolean; readonly ipv6: boolean }): void {
    if (this.#over) return;
    const { ipv4, ipv6 } = families;
    this.#home.outbox.answer(encodeJson(FrameType.opened, this.#id, { ipv4, ipv6 }));
    this.#home.outbox.answer(encodeJson(FrameType.close, this.#id, {}));
    this.#end();
  }

  refuse({ code, message }: OutgoingRefusal): void {
    if (this.#over) return;
    this.#home.outbox.answer(encodeJson(FrameType.failed, this.#id, { code, message }));
    this.#end();
  }

  receiveDataStart(): never {
    throw this.#streamless();
  }

  receiveEof(): never {
    throw this.#streamless();
  }

  receiveCredit(): never {
    throw this.#streamless();
  }

  receiveClose(): void {
    this.refuse(ABANDONED);
  }

  lose(): void {
    this.#over = true;
  }

  #end(): void {
    this.#over = true;
    this.#home.ended(this.#id);
  }

  #streamless(): GuestViolation {
    return new GuestViolation("wrong-stream", `a stream of channel ${this.#id}, which has none`);
  }
}
