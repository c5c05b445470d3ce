/**
 * src/runtime owns the lifecycle of sandboxes. A temporary one serves what it was started for and is destroyed; it
 * never outlives its owner and is never handed on.
 */
import type { Duplex } from "node:stream";
import type {
  Backend,
  BackendName,
  BootedSandbox,
  BootSpec,
  Layer,
  LimitCounts,
  SandboxEnd,
  ServeView,
  UsedSoFar,
} from "../core/backend.js";
import type { EgressPort } from "../core/egress.js";
import { isAgentKernelError } from "../core/errors.js";
import type { ExecRequest } from "../core/exec.js";
import { type Callee, type GuestExec, type GuestFiles, GuestSession } from "../guest/index.js";
import { hiddenLayers } from "./hidden-layer.js";
import type { RunSandbox } from "./run-sandbox.js";

/** Unique, not secret: loading a source of strong randomness would cost more than the rest of this module. */
export function temporaryId(): string {
  const random = Math.floor(Math.random() * 2 ** 48);
  return `run-${random.toString(16).padStart(12, "0")}`;
}

/** With a guest, from the first byte of its stream. */
interface Conversation {
  readonly stream: Duplex;
  readonly session: GuestSession;
  readonly first: Promise<GuestExec> | null;
}

export class TemporarySandbox implements RunSandbox {
  readonly id: string;
  readonly backend: BackendName;
  /** The command that it was started with; null where there was none. */
  readonly first: Promise<GuestExec> | null;
  readonly layers: readonly Layer[];
  /** It was built before it was asked for. */
  readonly isWarm: boolean;
  /** Settles when nothing of it is left, whoever ended it. */
  readonly ended: Promise<SandboxEnd>;
  readonly #booted: BootedSandbox;
  readonly #session: GuestSession;

  private constructor(id: string, backend: BackendName, booted: BootedSandbox, { session, first }: Conversation) {
    this.id = id;
    this.backend = backend;
    this.layers = booted.layers;
    this.isWarm = booted.isWarm === true;
    this.ended = booted.ended;
    this.first = first;
    this.#booted = booted;
    this.#session = session;
    this.#session.ready.catch(() => {});
    if (booted.heartbeat !== undefined) this.#session.watchHeartbeat(booted.heartbeat);
    // A guest that broke the protocol, or is gone, takes its sandbox with it.
    this.#session.ended.then(() => booted.kill()).catch(() => {});
  }

  /**
   * Without an `egress` nothing gets out of it, whatever the policy says. A command that is known already is sent ahead:
   * it runs as soon as the sandbox does.
   */
  static async start(
    backend: Backend,
    spec: BootSpec,
    signal?: AbortSignal,
    egress?: EgressPort,
    command?: ExecRequest,
  ): Promise<TemporarySandbox> {
    let talk: Conversation | null = null;
    const converse = (stream: Duplex, serveView?: ServeView): Conversation => {
      const session = new GuestSession(stream, {
        ...(egress === undefined ? {} : { egress }),
        ...(serveView === undefined ? {} : { serveView }),
      });
      session.ready.catch(() => {});
      const first = command === undefined ? null : session.exec(command);
      first?.catch(() => {});
      return { stream, session, first };
    };
    const searching = hiddenLayers(backend, spec);
    const started = await backend.boot(spec, signal, (...heard) => {
      talk = converse(...heard);
    });
    const booted =
      backend.tellsHidden === true ? started : { ...started, layers: [...started.layers, ...(await searching)] };
    const known = talk as Conversation | null;
    const conversation = known?.stream === booted.stream ? known : converse(booted.stream, booted.serveView);
    return new TemporarySandbox(spec.id, backend.name, booted, conversation);
  }

  /** Settles when `finish` is under way, at the latest with its end: what it used. Null where that is not known. */
  get ending(): Promise<UsedSoFar | null> {
    return Promise.race([this.#booted.ending ?? this.ended, this.ended]).catch(() => null);
  }

  /** Counts limits that were hit so far; null where only its end can tell. */
  limitsHit(): LimitCounts | null {
    return this.#booted.limitsHit?.() ?? null;
  }

  exec(request: ExecRequest, callee?: Callee): Promise<GuestExec> {
    return this.#session.exec(request, callee);
  }

  get files(): GuestFiles {
    return this.#session.files;
  }

  /** Makes a folder with its parents where it is not there. One that cannot be made is missed by whoever needs it. */
  async makeFolder(path: string): Promise<void> {
    try {
      await this.#session.files.mkdir(path, { parents: true });
    } catch (error) {
      if (!isAgentKernelError(error) || error.code !== "file_error") throw error;
    }
  }

  /** Connects to a port inside, for a published port. */
  connectTcp(port: number): Promise<Duplex> {
    return this.#session.connectTcp(port);
  }

  /** Ends everything in it; carries changes over where the policy says so. */
  async finish(): Promise<SandboxEnd> {
    const end = this.#booted.finish();
    this.#session.destroy();
    return await end;
  }

  /** Ends everything in it and carries nothing over. */
  async kill(): Promise<SandboxEnd> {
    const end = this.#booted.kill();
    this.#session.destroy();
    return await end;
  }
}
