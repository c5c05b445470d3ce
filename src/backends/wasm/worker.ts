/** A jail with the worker for WebAssembly in it: one that compiles, or one that has a module loaded and calls it. */
import { Buffer } from "node:buffer";
import type { Backend, BootedSandbox, BootSpec, Layer } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import type { ExecRequest } from "../../core/exec.js";
import { type GuestExec, GuestSession, type WasmLoad } from "../../guest/index.js";

/** Largest compiled module: code is several times the size of its module. */
const MAX_COMPILED_BYTES = 1 << 30;
/** A module that takes longer to compile is made to: a whole Python takes 8 s of one core, and the machine may be busy. */
const COMPILE_TIMEOUT_MS = 300_000;

export class WasmWorker {
  readonly layers: readonly Layer[];
  readonly isWarm: boolean;
  readonly booted: BootedSandbox;
  readonly #session: GuestSession;

  private constructor(booted: BootedSandbox) {
    this.booted = booted;
    this.isWarm = booted.isWarm === true;
    this.layers = [...booted.layers, { name: "webassembly", state: "applied" }];
    this.#session = new GuestSession(booted.stream);
    this.#session.ready.catch(() => {});
    this.#session.ended.then(() => booted.kill()).catch(() => {});
  }

  static async start(backend: Backend, spec: BootSpec, signal?: AbortSignal): Promise<WasmWorker> {
    return new WasmWorker(await backend.boot(spec, signal));
  }

  get isAlive(): boolean {
    return this.#session.failure === null;
  }

  /** Rejects with WasmRefused where the module cannot be had. */
  async load(asked: WasmLoad): Promise<void> {
    await this.#session.loadWasm(asked);
  }

  async compile(module: Buffer): Promise<readonly Buffer[]> {
    const pieces: Buffer[] = [];
    let bytes = 0;
    const impatience = setTimeout(() => this.#session.destroy(), COMPILE_TIMEOUT_MS);
    try {
      await this.#session.compileWasm(module, (piece) => {
        bytes += piece.length;
        if (bytes > MAX_COMPILED_BYTES) this.#session.destroy();
        else pieces.push(Buffer.from(piece));
      });
      return pieces;
    } catch (cause) {
      if (this.isAlive) throw cause;
      throw new AgentKernelError("command_not_executable", "the module could not be compiled in time and memory", {
        hint: "it may be made to be slow; a compiler's own optimisation makes large functions smaller",
        cause,
      });
    } finally {
      clearTimeout(impatience);
    }
  }

  async exec(request: ExecRequest): Promise<GuestExec> {
    return await this.#session.exec(request);
  }

  /** Ends it. Nothing of it is left afterwards. */
  async end(): Promise<void> {
    const ended = this.booted.kill();
    this.#session.destroy();
    await ended;
  }

  /** Ends it in order: what its module changed is carried over where the policy says so. */
  async finish(): ReturnType<BootedSandbox["finish"]> {
    const ended = this.booted.finish();
    this.#session.destroy();
    return await ended;
  }
}
