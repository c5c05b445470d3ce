/**
 * Channels that the guest opens: connections out of the sandbox and questions about names, which are put to the
 * gateway, calls of commands, which go to whoever started that command to be called, and the requests of a lazy view.
 * Without one of these all are denied. What is kept is bounded by how many may be open at once.
 */
import type { Duplex } from "node:stream";
import type { ServeView } from "../core/backend.js";
import type { EgressPort, OutgoingRefusal, OutgoingTarget } from "../core/egress.js";
import type { AgentKernelError } from "../core/errors.js";
import { encodeJson, FrameType, MAX_GUEST_CHANNELS } from "./frame.js";
import { type GuestChannel, type GuestChannelSession, LookupChannel, OutgoingChannel } from "./guest-channel.js";
import type { JsonObject } from "./json.js";
import type { Outbox } from "./outbox.js";
import { readGuestRequest } from "./outgoing.js";
import { GuestViolation } from "./violation.js";
import { WindowPool } from "./window-pool.js";

/** Bytes that all streams of one session may be granted together, beyond the first window of each. */
const GROWTH_BYTES = 33_554_432;

/** Gets the calls of one command as a stream, once. */
export type Callee = (stream: Duplex) => void;

interface GuestOpensOptions {
  readonly outbox: Outbox;
  readonly egress: EgressPort | null;
  readonly serveView: ServeView | null;
  readonly maxWindowBytes: number;
  sinkFault(error: unknown): void;
}

export class GuestOpens {
  readonly #outbox: Outbox;
  readonly #egress: EgressPort | null;
  /** Null where there is no view, or somebody has it. */
  #serveView: ServeView | null;
  readonly #home: GuestChannelSession;
  readonly #channels = new Map<number, GuestChannel>();
  /** Who answers the calls of a command, by its channel, until they have come. */
  readonly #callees = new Map<number, Callee>();
  #lastId = 0;

  constructor({ outbox, egress, serveView, maxWindowBytes, sinkFault }: GuestOpensOptions) {
    this.#outbox = outbox;
    this.#serveView = serveView;
    this.#egress = egress;
    this.#home = {
      outbox,
      maxWindowBytes,
      pool: new WindowPool(GROWTH_BYTES),
      sinkFault,
      ended: (id) => this.#channels.delete(id),
    };
  }

  open(id: number, body: JsonObject): void {
    if (id % 2 !== 0 || id <= this.#lastId) {
      throw new GuestViolation("bad-open-id", `OPEN with id ${id} after ${this.#lastId}`);
    }
    this.#lastId = id;
    const request = readGuestRequest(body);
    if (this.#channels.size >= MAX_GUEST_CHANNELS) {
      throw new GuestViolation("too-many-channels", `more than ${MAX_GUEST_CHANNELS} channels open at once`);
    }
    if (request.kind === "other") this.#refuse(id, UNSUPPORTED);
    else if (request.kind === "call") this.#call(id, request.exec);
    else if (request.kind === "view") this.#view(id);
    else if (this.#egress === null) this.#refuse(id, NO_NETWORK);
    else if (request.kind === "lookup") this.#lookUp(id, request.name, this.#egress);
    else this.#connect(id, request.target, this.#egress);
  }

  /** The command on that channel may call. */
  expectCalls(exec: number, callee: Callee): void {
    this.#callees.set(exec, callee);
  }

  /** The command is over: what has not called by now does not any more. */
  forgetCalls(exec: number): void {
    this.#callees.delete(exec);
  }

  /** The channel that a frame is for; null when it has ended and the guest may not have seen that yet. */
  find(id: number): GuestChannel | null {
    if (id > this.#lastId)
      throw new GuestViolation("unknown-channel", `a frame on channel ${id}, which it never opened`);
    return this.#channels.get(id) ?? null;
  }

  lose(error: AgentKernelError): void {
    const channels = [...this.#channels.values()];
    this.#channels.clear();
    for (const channel of channels) channel.lose(error);
  }

  #lookUp(id: number, name: string, egress: EgressPort): void {
    const channel = new LookupChannel(id, this.#home);
    this.#channels.set(id, channel);
    settle(
      () => egress.lookup(name),
      (answer) => ("code" in answer ? channel.refuse(answer) : channel.answer(answer)),
      () => channel.refuse(GATEWAY_FAILED),
    );
  }

  #connect(id: number, target: OutgoingTarget, egress: EgressPort): void {
    const channel = new OutgoingChannel(id, this.#home);
    this.#channels.set(id, channel);
    settle(
      () => egress.connect(target, channel.stream),
      (refusal) => (refusal ? channel.refuse(refusal) : channel.accept()),
      () => channel.refuse(GATEWAY_FAILED),
    );
  }

  #call(id: number, exec: number): void {
    const callee = this.#callees.get(exec);
    if (callee === undefined) {
      this.#refuse(id, NOBODY_ANSWERS);
      return;
    }
    this.#callees.delete(exec);
    this.#answerBy(id, callee);
  }

  #view(id: number): void {
    const serveView = this.#serveView;
    this.#serveView = null;
    if (serveView === null) this.#refuse(id, NO_VIEW);
    else this.#answerBy(id, serveView);
  }

  #answerBy(id: number, answerer: Callee): void {
    const channel = new OutgoingChannel(id, this.#home);
    this.#channels.set(id, channel);
    channel.accept();
    answerer(channel.stream);
  }

  #refuse(id: number, refusal: { readonly code: string; readonly message: string }): void {
    this.#outbox.answer(encodeJson(FrameType.failed, id, refusal));
  }
}

/** A gateway that throws has failed this one request; the program in the sandbox is told, and nothing else ends. */
function settle<T>(ask: () => Promise<T>, answered: (answer: T) => void, failed: () => void): void {
  let asked: Promise<T>;
  try {
    asked = ask();
  } catch {
    failed();
    return;
  }
  asked.then(answered, failed);
}

const UNSUPPORTED = { code: "unsupported", message: "this kind of channel is not served" };
const NOBODY_ANSWERS: OutgoingRefusal = { code: "denied", message: "nobody answers calls of that command" };
const NO_VIEW: OutgoingRefusal = { code: "denied", message: "nothing is shown lazily, or it is answered for already" };
const NO_NETWORK: OutgoingRefusal = { code: "denied", message: "the sandbox has no network" };
const GATEWAY_FAILED: OutgoingRefusal = { code: "failed", message: "the gateway failed" };
