/**
 * src/runtime owns the lifecycle of sandboxes. A temporary one serves what it was started for and is destroyed; it
 * never outlives its owner and is never handed on.
 */
import type { Duplex } from "node:stream";
import type { Backend, BootedSandbox, BootSpec, Layer, LimitHits, SandboxEnd } from "../core/backend.js";
import type { EgressPort } from "../core/egress.js";
import { isAgentKernelError } from "../core/errors.js";
import type { ExecRequest } from "../core/exec.js";
import { type GuestExec, type GuestFiles, GuestSession } from "../guest/index.js";

/** Unique, not secret: loading a source of strong randomness would cost more than the rest of this module. */
export function temporaryId(): string {
  const random = Math.floor(Math.random() * 2 ** 48);
  return `run-${random.toString(16).padStart(12, "0")}`;
}

export class TemporarySandbox {
  readonly id: string;
  readonly layers: readonly Layer[];
  /** Settles when nothing of it is left, whoever ended it. */
  readonly ended: Promise<SandboxEnd>;
  readonly #booted: BootedSandbox;
  readonly #session: GuestSession;

  private constructor(id: string, booted: BootedSandbox, egress?: EgressPort) {
    this.id = id;
    this.layers = booted.layers;
    this.ended = booted.ended;
    this.#booted = booted;
    this.#session = new GuestSession(booted.stream, egress ? { egress } : {});
    this.#session.ready.catch(() => {});
    // A guest that broke the protocol, or is gone, takes its sandbox with it.
    this.#session.ended.then(() => booted.kill()).catch(() => {});
  }

  /** Without an `egress` nothing gets out of it, whatever the policy says. */
  static async start(
    backend: Backend,
    spec: BootSpec,
    signal?: AbortSignal,
    egress?: EgressPort,
  ): Promise<TemporarySandbox> {
    return new TemporarySandbox(spec.id, await backend.boot(spec, signal), egress);
  }

  /** Settles when `finish` is under way, at the latest with its end: what the limits did. Null where that is not known. */
  get ending(): Promise<LimitHits | null> {
    return Promise.race([this.#booted.ending ?? this.ended, this.ended]).catch(() => null);
  }

  exec(request: ExecRequest): Promise<GuestExec> {
    return this.#session.exec(request);
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
