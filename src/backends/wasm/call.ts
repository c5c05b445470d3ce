/** One call of a module, in the place of a sandbox: it begins with a worker and ends by giving it back, or with it. */
import type { Duplex } from "node:stream";
import type { Layer, LimitCounts, SandboxEnd, UsedSoFar } from "../../core/backend.js";
import { deferred } from "../../core/deferred.js";
import { AgentKernelError } from "../../core/errors.js";
import type { ExecExit, ExecRequest } from "../../core/exec.js";
import type { GuestExec, GuestFiles } from "../../guest/index.js";
import type { WasmWorker } from "./worker.js";

/** Takes the worker back when the call is over. */
interface WorkerRelease {
  /** It may serve another call of the same kind. Null: it has seen a project, and serves one. */
  readonly give: ((worker: WasmWorker) => void) | null;
  readonly drop: (worker: WasmWorker) => void;
}

export class WasmCall {
  readonly id: string;
  readonly backend = "wasm";
  readonly first = null;
  readonly layers: readonly Layer[];
  readonly isWarm: boolean;
  readonly ended: Promise<SandboxEnd>;
  readonly #worker: WasmWorker;
  readonly #home: WorkerRelease;
  readonly #ended = deferred<SandboxEnd>();
  #ending: Promise<SandboxEnd> | null = null;
  #exit: ExecExit | null = null;

  constructor(id: string, worker: WasmWorker, release: WorkerRelease, isWarm: boolean) {
    this.id = id;
    this.#worker = worker;
    this.#home = release;
    this.layers = worker.layers;
    this.isWarm = isWarm;
    this.ended = this.#ended.promise;
    this.ended.catch(() => {});
  }

  get ending(): Promise<UsedSoFar | null> {
    return this.#home.give === null ? (this.#worker.booted.ending ?? this.ended) : this.ended;
  }

  /** What a call was refused is in its own trap. */
  limitsHit(): LimitCounts | null {
    return this.#home.give === null ? (this.#worker.booted.limitsHit?.() ?? null) : { oomKills: 0, pidsDenied: 0 };
  }

  get files(): GuestFiles {
    throw unsupported("files of its own");
  }

  async exec(request: ExecRequest): Promise<GuestExec> {
    const { user: _, ...asked } = request;
    const exec = await this.#worker.exec(asked);
    exec.exited.then(
      (exit) => {
        this.#exit = exit;
      },
      () => {},
    );
    return exec;
  }

  async makeFolder(_path: string): Promise<void> {}

  async connectTcp(_port: number): Promise<Duplex> {
    throw unsupported("ports");
  }

  finish(): Promise<SandboxEnd> {
    this.#ending ??= this.#settle(this.#end(true));
    return this.#ending;
  }

  kill(): Promise<SandboxEnd> {
    this.#ending ??= this.#settle(this.#end(false));
    return this.#ending;
  }

  async #settle(end: Promise<SandboxEnd>): Promise<SandboxEnd> {
    end.then(this.#ended.resolve, this.#ended.reject);
    return await end;
  }

  async #end(inOrder: boolean): Promise<SandboxEnd> {
    const { give, drop } = this.#home;
    if (give === null) {
      try {
        return inOrder ? await this.#worker.finish() : await this.#worker.booted.kill();
      } finally {
        drop(this.#worker);
      }
    }
    // Whoever trapped or had to be stopped is not asked again: what went wrong may not have been the module alone.
    if (inOrder && this.#exit?.code !== null && this.#exit !== null) give(this.#worker);
    else drop(this.#worker);
    const { userUs = 0, systemUs = 0, maxRssKiB = 0 } = this.#exit?.usage ?? {};
    return {
      code: 0,
      signal: null,
      oomKills: 0,
      pidsDenied: 0,
      memoryPeakBytes: maxRssKiB * 1024,
      cpuUs: userUs + systemUs,
      carried: null,
    };
  }
}

function unsupported(what: string): AgentKernelError {
  return new AgentKernelError("unsupported", `a WebAssembly module has no ${what}`, {
    hint: (wording) => `use another backend, for example ${wording.with("backend", "linux")}`,
  });
}
