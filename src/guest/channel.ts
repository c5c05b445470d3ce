/**
 * One channel that the host opened: which frames may come when. Checks the order of everything the guest says on it;
 * what the frames mean is the handler's.
 */
import { Buffer } from "node:buffer";
import type { AgentKernelError } from "../core/errors.js";
import { encodeCredit, encodeFrame, encodeJson, FrameType, type StreamId } from "./frame.js";
import { InboundStream } from "./inbound-stream.js";
import { type JsonObject, member } from "./json.js";
import { type GuestRefusal, readRefusal } from "./messages.js";
import { OutboundStream } from "./outbound-stream.js";
import type { Outbox } from "./outbox.js";
import type { ReadLease } from "./socket-reader.js";
import { GuestViolation } from "./violation.js";

export interface ChannelShape {
  /** The streams on which the guest sends. */
  readonly inbound: readonly (1 | 2)[];
  /** Whether the host sends on stream 0. */
  readonly outbound: boolean;
  /** How much may be sent before the guest grants more; by default what its HELLO says. */
  readonly outboundWindowBytes?: number;
  readonly terminal: typeof FrameType.exit | typeof FrameType.close;
  /** A part of what came last stays ungranted, for whoever takes the command up next. */
  readonly holdsBack?: boolean;
  /** True: the receiver keeps the guest's bytes, so they are copied out of the read buffer. */
  readonly keepsInput?: true;
}

/** Each may throw a GuestViolation for a body that is not as it must be. After `failed`, `closed` or `lost`: nothing. */
export interface ChannelHandler {
  opened(body: JsonObject): void;
  failed(refusal: GuestRefusal): void;
  closed(body: JsonObject): void;
  lost(error: AgentKernelError): void;
}

/** The part of its session that a channel uses. */
export interface ChannelSession {
  readonly outbox: Outbox;
  readonly lease: ReadLease;
  readonly windowBytes: number;
  /** How much may be sent on a new stream. */
  readonly peerWindowBytes: number;
  sinkFault(error: unknown): void;
  channelEnded(id: number): void;
}

export class Channel {
  readonly id: number;
  readonly outbound: OutboundStream | null;
  readonly #shape: ChannelShape;
  readonly #home: ChannelSession;
  readonly #handler: ChannelHandler;
  readonly #inbound = new Map<StreamId, InboundStream>();
  #answered = false;
  #ended = false;
  #closeSent = false;

  constructor(id: number, shape: ChannelShape, session: ChannelSession, handler: ChannelHandler) {
    this.id = id;
    this.#shape = shape;
    this.#home = session;
    this.#handler = handler;
    const windowBytes = shape.outboundWindowBytes ?? session.peerWindowBytes;
    this.outbound = shape.outbound ? new OutboundStream(id, windowBytes, session.outbox) : null;
    for (const stream of shape.inbound) {
      const grant = (bytes: number) => {
        if (!this.#ended) session.outbox.send(encodeCredit(id, stream, bytes));
      };
      const sinkFault = (error: unknown) => session.sinkFault(error);
      this.#inbound.set(
        stream,
        new InboundStream({
          windowBytes: session.windowBytes,
          lease: shape.keepsInput ? NO_LEASE : session.lease,
          heldBackBytes: shape.holdsBack === true ? session.windowBytes >>> 2 : 0,
          grant,
          sinkFault,
        }),
      );
    }
  }

  get ended(): boolean {
    return this.#ended;
  }

  requireOutbound(): OutboundStream {
    if (!this.outbound) throw new TypeError("this channel takes no input");
    return this.outbound;
  }

  inbound(stream: 1 | 2): InboundStream {
    const found = this.#inbound.get(stream);
    if (!found) throw new TypeError(`this channel has no stream ${stream}`);
    return found;
  }

  send(type: typeof FrameType.signal | typeof FrameType.resize, body: object): void {
    if (!this.#ended) this.#home.outbox.send(encodeJson(type, this.id, body));
  }

  /** Tells the guest that nobody reads a stream any more. What is on its way still comes, and so does its EOF. */
  sendUnread(stream: 1 | 2): void {
    if (!this.#ended && !this.inbound(stream).ended)
      this.#home.outbox.send(encodeFrame(FrameType.eof, this.id, stream));
  }

  /** Asks the guest to abandon the work. The terminal frame still comes. */
  close(): void {
    if (this.#ended || this.#closeSent) return;
    this.#closeSent = true;
    this.outbound?.stop();
    this.#home.outbox.send(encodeFrame(FrameType.close, this.id, 0, CLOSE_BODY));
  }

  receiveOpened(body: JsonObject): void {
    if (this.#answered) throw new GuestViolation("second-answer", `a second answer on channel ${this.id}`);
    this.#answered = true;
    this.#handler.opened(body);
  }

  receiveFailed(body: JsonObject): void {
    if (this.#answered) throw new GuestViolation("second-answer", `FAILED after OPENED on channel ${this.id}`);
    this.#answered = true;
    const refusal = readRefusal(body);
    this.#end();
    this.#handler.failed(refusal);
  }

  receiveClose(body: JsonObject): void {
    this.receiveTerminal(FrameType.close, body);
  }

  receiveTerminal(type: typeof FrameType.exit | typeof FrameType.close, body: JsonObject): void {
    if (type !== this.#shape.terminal) {
      throw new GuestViolation("wrong-terminal", `a terminal frame of type ${type} on channel ${this.id}`);
    }
    this.#checkAnswered();
    const cutShort = type === FrameType.close && (this.#closeSent || member(body, "code") !== undefined);
    for (const stream of this.#inbound.values()) {
      if (!stream.ended && !cutShort) {
        throw new GuestViolation("terminal-before-eof", `the end of channel ${this.id} before the end of its output`);
      }
    }
    this.#handler.closed(body);
    this.#end();
  }

  /** The stream that the announced DATA goes to. */
  receiveDataStart(stream: StreamId, length: number): InboundStream {
    const target = this.#inboundFor(stream);
    target.reserve(length);
    return target;
  }

  receiveEof(stream: StreamId): void {
    this.#inboundFor(stream).finish();
  }

  receiveCredit(stream: StreamId, bytes: number): void {
    if (stream !== 0 || !this.outbound) {
      throw new GuestViolation("wrong-stream", `CREDIT for stream ${stream} of channel ${this.id}`);
    }
    this.outbound.grant(bytes);
  }

  /** The session is over before the terminal frame came. */
  lose(error: AgentKernelError): void {
    if (this.#ended) return;
    this.#end(error);
    this.#handler.lost(error);
  }

  /** `cutOff`: what the sinks of unfinished streams are told. */
  #end(cutOff?: AgentKernelError): void {
    this.#ended = true;
    this.outbound?.stop();
    for (const stream of this.#inbound.values()) stream.abort(cutOff);
    this.#home.channelEnded(this.id);
  }

  #inboundFor(stream: StreamId): InboundStream {
    this.#checkAnswered();
    const found = this.#inbound.get(stream);
    if (!found) throw new GuestViolation("wrong-stream", `output on stream ${stream} of channel ${this.id}`);
    return found;
  }

  #checkAnswered(): void {
    if (!this.#answered) throw new GuestViolation("before-opened", `output on channel ${this.id} before OPENED`);
  }
}

const NO_LEASE: ReadLease = { hold: () => null };
const CLOSE_BODY = Buffer.from("{}");
