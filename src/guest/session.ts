/**
 * The host's end of one sandbox's byte stream. Owns the socket and every channel on it. It trusts nothing that
 * arrives: a breach of the protocol ends this session with one error that all pending work rejects with, and is
 * never thrown at anyone else. It must never wait for the guest while holding something of another sandbox.
 */
import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import type { ServeView } from "../core/backend.js";
import { deferred } from "../core/deferred.js";
import type { EgressPort } from "../core/egress.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import type { ExecRequest } from "../core/exec.js";
import type { HeartbeatTiming } from "../core/heartbeat-timing.js";
import { Channel, type ChannelHandler, type ChannelSession, type ChannelShape } from "./channel.js";
import { connectTcp } from "./connect-tcp.js";
import { FrameDecoder, type FrameReceiver } from "./decoder.js";
import { attachExec, forgetExec, type GuestExec, openExec, type ResumeAt } from "./exec.js";
import { GuestFiles } from "./files.js";
import {
  ASSUMED_WINDOW_BYTES,
  encodeFrame,
  encodeJson,
  FrameType,
  HEADER_BYTES,
  MAX_CHANNEL_ID,
  MAX_HOST_CHANNELS,
  MAX_HOST_JSON_BYTES,
  MAX_WINDOW_BYTES,
  MIN_WINDOW_BYTES,
  PROTOCOL_VERSION,
} from "./frame.js";
import type { GuestChannel } from "./guest-channel.js";
import { type Callee, GuestOpens } from "./guest-opens.js";
import { Heartbeat } from "./heartbeat.js";
import type { InboundStream } from "./inbound-stream.js";
import type { KeptExec } from "./kept-exec.js";
import { Outbox } from "./outbox.js";
import { type GuestReady, readReady } from "./ready.js";
import { readerOf, type SocketReader } from "./socket-reader.js";
import { GuestViolation } from "./violation.js";
import { compileWasm, loadWasm, type WasmLoad } from "./wasm.js";

const DEFAULT_WINDOW_BYTES = 1_048_576;
/** For kept sandboxes: their guests hold as much of each stream, until it is acknowledged. */
export const KEPT_WINDOW_BYTES = 262_144;

export interface GuestSessionOptions {
  /** Window of each stream; bounds the memory that one stream takes here. */
  readonly windowBytes?: number;
  /** Where connections out of the sandbox, and questions about names, are put to. Without it all are denied. */
  readonly egress?: EgressPort;
  /** Who answers for a project that is shown lazily. */
  readonly serveView?: ServeView;
}

export class GuestSession {
  /** The guest can serve. Rejects when the session ends before. Nothing needs to wait for it: opens are pipelined. */
  readonly ready: Promise<GuestReady>;
  /** Settles once when the session is over: with the error that ended it, or null when the host ended it. */
  readonly ended: Promise<AgentKernelError | null>;
  readonly files: GuestFiles;

  readonly #socket: Duplex;
  readonly #reader: SocketReader;
  readonly #outbox: Outbox;
  readonly #guestOpens: GuestOpens;
  readonly #windowBytes: number;
  readonly #channels = new Map<number, Channel>();
  readonly #ready = deferred<GuestReady>();
  readonly #ended = deferred<AgentKernelError | null>();
  readonly #home: ChannelSession;
  #peerWindowBytes = ASSUMED_WINDOW_BYTES;
  #helloSeen = false;
  #lastId = -1;
  #over: AgentKernelError | null = null;
  #endExpected = false;
  #readPaused = false;
  #heartbeat: Heartbeat | null = null;
  #wasLost = false;

  constructor(socket: Duplex, options: GuestSessionOptions = {}) {
    const windowBytes = options.windowBytes ?? DEFAULT_WINDOW_BYTES;
    if (!Number.isInteger(windowBytes) || windowBytes < MIN_WINDOW_BYTES || windowBytes > MAX_WINDOW_BYTES) {
      throw new RangeError(`windowBytes must be ${MIN_WINDOW_BYTES} to ${MAX_WINDOW_BYTES}`);
    }
    this.#windowBytes = windowBytes;
    this.#socket = socket;
    this.#reader = readerOf(socket);
    this.#outbox = new Outbox(socket, () => this.#resumeReading());
    this.#guestOpens = new GuestOpens({
      outbox: this.#outbox,
      egress: options.egress ?? null,
      serveView: options.serveView ?? null,
      maxWindowBytes: windowBytes,
      sinkFault: (error) => this.#finish(asError(error)),
    });
    this.ready = this.#ready.promise;
    this.ended = this.#ended.promise;
    this.#home = this.#makeHome();
    this.files = new GuestFiles((shape, body, handler) => this.#open(shape, body, handler));
    this.#outbox.send(encodeJson(FrameType.hello, 0, { protocol: PROTOCOL_VERSION, window: windowBytes }));
    this.#listen();
  }

  /** The other side went, and it was not this one that gave up on it. */
  get wasLost(): boolean {
    return this.#wasLost;
  }

  /** The error that ended the session, or null while it lasts. */
  get failure(): AgentKernelError | null {
    return this.#over;
  }

  /** From now on a guest that gives no sign of life ends the session. Once. */
  watchHeartbeat(heartbeat: HeartbeatTiming): void {
    if (this.#over) return;
    this.#heartbeat = new Heartbeat(heartbeat, {
      ask: () => this.#outbox.send(encodeFrame(FrameType.ping, 0)),
      giveUp: () => this.#finish(silent(heartbeat)),
    });
  }

  /** It is about to be held still: until `expectSigns` its silence says nothing. */
  excuseSilence(): void {
    this.#heartbeat?.excuse();
  }

  expectSigns(): void {
    this.#heartbeat?.expect();
  }

  /** Sends the request at once, also before the ready frame; `opened` and `exited` of the result tell what came of it. */
  async exec(request: ExecRequest, callee?: Callee): Promise<GuestExec> {
    if (callee === undefined) return openExec((shape, body, handler) => this.#open(shape, body, handler), request);
    let id = 0;
    const exec = openExec((shape, body, handler) => {
      const channel = this.#open(shape, { ...body, calls: true }, handler);
      id = channel.id;
      return channel;
    }, request);
    this.#guestOpens.expectCalls(id, callee);
    const forget = () => this.#guestOpens.forgetCalls(id);
    exec.exited.then(forget, forget);
    return exec;
  }

  /**
   * Takes a kept command up that an earlier connection had started and that `ready` lists. Only to be called when
   * `ready` has settled.
   */
  async attach(kept: KeptExec, at: ResumeAt = {}): Promise<GuestExec> {
    return attachExec((shape, body, handler) => this.#open(shape, body, handler), kept, at);
  }

  /** The end of a kept command is on record: the guest may forget it. */
  async forget(key: string): Promise<void> {
    return await forgetExec((shape, body, handler) => this.#open(shape, body, handler), key);
  }

  /** Connects to a port inside the sandbox: on 127.0.0.1, else on ::1. */
  async connectTcp(port: number): Promise<Duplex> {
    return await connectTcp((shape, body, handler) => this.#open(shape, body, handler), port);
  }

  /** Only of a worker for WebAssembly: rejects with WasmRefused where it cannot be compiled. */
  async compileWasm(module: Buffer, take: (piece: Buffer) => void): Promise<void> {
    await compileWasm((shape, body, handler) => this.#open(shape, body, handler), module, take);
  }

  /** Only of a worker for WebAssembly. Execs are calls of this module from then on. */
  async loadWasm(asked: WasmLoad): Promise<void> {
    await loadWasm((shape, body, handler) => this.#open(shape, body, handler), asked);
  }

  /** Asks the guest to end everything; the stream ends when it has. */
  shutdown(graceMs: number): void {
    if (this.#over) return;
    this.#endExpected = true;
    this.#outbox.send(encodeJson(FrameType.shutdown, 0, { grace_ms: graceMs }));
  }

  /** Drops the stream; the guest then kills everything but kept commands. What is still pending rejects. Idempotent. */
  destroy(): void {
    this.#endExpected = true;
    closed ??= new AgentKernelError("sandbox_died", "The connection to the sandbox was closed.");
    this.#finish(closed);
  }

  #listen(): void {
    const decoder = new FrameDecoder(this.#makeReceiver());
    const socket = this.#socket;
    socket.on("error", (cause) => this.#lose(cause));
    socket.on("end", () => this.#lose());
    socket.on("close", () => this.#lose());
    socket.on("drain", () => this.#guard(() => this.#drained()));
    this.#reader.start((chunk) => this.#guard(() => this.#receive(decoder, chunk)));
    if (socket.destroyed) this.#lose();
  }

  #receive(decoder: FrameDecoder, chunk: Buffer): void {
    if (this.#over) return;
    this.#heartbeat?.heard();
    decoder.push(chunk);
    if (this.#outbox.congested && !this.#over) {
      this.#readPaused = true;
      this.#reader.pause();
    }
  }

  #resumeReading(): void {
    if (this.#over || !this.#readPaused) return;
    this.#readPaused = false;
    this.#reader.resume();
  }

  #drained(): void {
    if (this.#over) return;
    this.#outbox.drained();
  }

  /** Whatever goes wrong while the guest's bytes are handled ends this session, not the process. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#finish(asError(error));
    }
  }

  /** An error takes a while to make, and mostly this is no news. */
  #lose(cause?: unknown): void {
    if (this.#over) return;
    this.#wasLost = true;
    this.#finish(died(cause));
  }

  #finish(error: AgentKernelError): void {
    if (this.#over) return;
    this.#over = error;
    this.#heartbeat?.stop();
    this.#socket.destroy();
    this.#ready.reject(error);
    const channels = [...this.#channels.values()];
    this.#channels.clear();
    for (const channel of channels) channel.lose(error);
    this.#guestOpens.lose(error);
    this.#ended.resolve(this.#endExpected && error.code === "sandbox_died" ? null : error);
  }

  #open(shape: ChannelShape, body: object, handler: ChannelHandler): Channel {
    if (this.#over) throw this.#over;
    if (this.#channels.size >= MAX_HOST_CHANNELS) {
      throw new AgentKernelError(
        "resource_exhausted",
        `A sandbox serves at most ${MAX_HOST_CHANNELS} commands and file transfers at once.`,
      );
    }
    const id = this.#lastId + 2;
    if (id > MAX_CHANNEL_ID) throw new AgentKernelError("resource_exhausted", "The connection has no more channels.");
    const frame = encodeJson(FrameType.open, id, body);
    if (frame.length - HEADER_BYTES > MAX_HOST_JSON_BYTES) {
      throw new AgentKernelError("invalid_argument", "The command and its environment are larger than 4 MiB.");
    }
    this.#lastId = id;
    const channel = new Channel(id, shape, this.#home, handler);
    this.#channels.set(id, channel);
    this.#outbox.send(frame);
    return channel;
  }

  /** A frame on a channel that is not open is a breach. */
  #channel(id: number): Channel {
    const channel = this.#channels.get(id);
    if (channel) return channel;
    if (id % 2 === 0) throw new GuestViolation("unknown-channel", `an answer on its own channel ${id}`);
    if (id <= this.#lastId) {
      throw new GuestViolation("after-terminal", `a frame on channel ${id}, which has ended`);
    }
    throw new GuestViolation("unknown-channel", `a frame on channel ${id}, which was never opened`);
  }

  /** Either side's; null for one of the guest's that has ended without its knowing yet. */
  #anyChannel(id: number): Channel | GuestChannel | null {
    return id % 2 === 0 ? this.#guestOpens.find(id) : this.#channel(id);
  }

  #hello(ready: GuestReady): void {
    this.#helloSeen = true;
    const extraBytes = ready.windowBytes - ASSUMED_WINDOW_BYTES;
    this.#peerWindowBytes = ready.windowBytes;
    this.#ready.resolve(ready);
    if (extraBytes > 0) for (const channel of this.#channels.values()) channel.outbound?.grant(extraBytes);
  }

  #makeHome(): ChannelSession {
    const peerWindowBytes = () => this.#peerWindowBytes;
    return {
      outbox: this.#outbox,
      lease: this.#reader,
      windowBytes: this.#windowBytes,
      get peerWindowBytes() {
        return peerWindowBytes();
      },
      sinkFault: (error) => this.#finish(asError(error)),
      channelEnded: (id) => this.#channels.delete(id),
    };
  }

  #makeReceiver(): FrameReceiver {
    let target: InboundStream | null = null;
    const greeted = () => {
      if (!this.#helloSeen) throw new GuestViolation("before-hello", "a frame before HELLO");
    };
    return {
      json: (type, id, body) => {
        if (this.#over) return;
        if (type === FrameType.hello) {
          if (this.#helloSeen) throw new GuestViolation("second-hello", "a second HELLO");
          return this.#hello(readReady(body));
        }
        greeted();
        switch (type) {
          case FrameType.open:
            return this.#guestOpens.open(id, body);
          case FrameType.opened:
            return this.#channel(id).receiveOpened(body);
          case FrameType.failed:
            return this.#channel(id).receiveFailed(body);
          case FrameType.exit:
            return this.#channel(id).receiveTerminal(type, body);
          case FrameType.close:
            return this.#anyChannel(id)?.receiveClose(body);
        }
      },
      dataStart: (id, stream, length) => {
        target = null;
        if (this.#over) return;
        greeted();
        target = this.#anyChannel(id)?.receiveDataStart(stream, length) ?? null;
      },
      dataPiece: (piece) => {
        if (!this.#over) target?.push(piece);
      },
      eof: (id, stream) => {
        if (this.#over) return;
        greeted();
        this.#anyChannel(id)?.receiveEof(stream);
      },
      credit: (id, stream, bytes) => {
        if (this.#over) return;
        greeted();
        this.#anyChannel(id)?.receiveCredit(stream, bytes);
      },
      ping: (payload) => {
        if (this.#over) return;
        greeted();
        this.#outbox.pong(encodeFrame(FrameType.pong, 0, 0, payload));
      },
      pong: ({ length }) => {
        if (this.#over) return;
        greeted();
        // What is asked has no bytes.
        if (length > 0 || this.#heartbeat?.answered() !== true)
          throw new GuestViolation("unasked-pong", "PONG without a PING");
      },
    };
  }
}

/** Made once: it says nothing of the session that it ended. */
let closed: AgentKernelError | undefined;

function died(cause?: unknown): AgentKernelError {
  return new AgentKernelError("sandbox_died", "The sandbox ended before its work was done.", { cause });
}

function silent({ quietMs, patienceMs }: HeartbeatTiming): AgentKernelError {
  const seconds = Math.round((quietMs + patienceMs) / 1000);
  const message = `the sandbox has given no sign of life for ${seconds} s, and was ended`;
  return new AgentKernelError("sandbox_died", message, {
    hint: "what runs in it may have stopped its kernel: try again",
  });
}

/** Any other error is a bug of ours: a sink or listener threw. */
function asError(cause: unknown): AgentKernelError {
  if (isAgentKernelError(cause)) return cause;
  return new AgentKernelError("internal", "Handling the sandbox's output failed.", { cause });
}
