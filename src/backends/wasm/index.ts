/**
 * The wasm backend: WebAssembly behind two walls, its own and a linux jail's. A module is compiled in a jail that runs
 * nothing, and called in workers, each a jail without network, programs or files but the folders that the policy shows.
 * Nothing of a module is ever compiled, loaded or run in this process.
 *
 * Workers that have seen a project's files serve one call. Others wait for calls of the same module, with the same
 * limits, by the same caller.
 */
import type { Backend, BootSpec, Lack } from "../../core/backend.js";
import { deferred } from "../../core/deferred.js";
import type { Policy } from "../../core/policy.js";
import { type WasmFolder, WasmRefused } from "../../guest/index.js";
import { WasmCall } from "./call.js";
import { engines } from "./languages.js";
import { COMPILED_NAME, ModuleCache } from "./module-cache.js";
import { ModuleFiles, type ModuleSource, nameOf } from "./module-file.js";
import { asNotExecutable } from "./module-refusal.js";
import { WasmWorker } from "./worker.js";
import { WorkerPool } from "./worker-pool.js";

/** Where a worker finds its compiled module. */
const MODULE_FOLDER = "/module";
/** Memory of the worker beside the module's. */
const WORKER_MIB = 128;
const COMPILER_MIB = 2048;
/** Threads of a worker, with room. */
const WORKER_PIDS = 32;

/** Parts of the contract that do not apply to modules. */
export const wasmLacks: readonly Lack[] = [
  { capability: "concurrent-commands", reason: "a call is one computation; there is nothing beside it" },
  { capability: "signals", reason: "WASI preview 1 has no signals: one that would end a program ends the call" },
  { capability: "terminal", reason: "WASI preview 1 has no terminals" },
  { capability: "files", reason: "a module has no files of its own, only the folders that its policy shows" },
  {
    capability: "project-path",
    reason: "a module gets the directories that are shown to it, by the names they have there",
  },
  { capability: "users", reason: "WASI has no users" },
  { capability: "home", reason: "there are no programs that would look for one" },
  { capability: "limit-processes", reason: "a module starts no processes" },
  { capability: "limit-disk", reason: "a module writes to nothing but what is shown" },
  { capability: "network", reason: "WASI preview 1 opens no connections, and none is given" },
  { capability: "kept", reason: "an instance has nothing that could be kept" },
  { capability: "pause", reason: "only sandboxes that stay are paused" },
  { capability: "snapshot", reason: "instances are not saved" },
];

interface WasmBackendOptions {
  /** Starts jails whose first process is the worker. */
  readonly jails: Backend;
  /** The same, which may have some built ahead: for workers that serve one call. */
  readonly jailsAhead: Backend;
  readonly workerBinary: string;
  /** For compiled modules. */
  readonly cacheFolder: string;
  /** For engines of languages that do not come along. */
  readonly enginesFolder: string;
  readonly maxWorkers: number;
}

interface ModuleCallSpec extends Pick<BootSpec, "id" | "hostname" | "policy" | "projectDir"> {
  readonly module: ModuleSource;
  readonly digest: string;
  /** Whose call it is; workers are not shared between callers. */
  readonly caller: string;
}

export class WasmBackend {
  readonly name = "wasm";
  readonly files: ModuleFiles;
  readonly #options: WasmBackendOptions;
  readonly #cache: ModuleCache;
  readonly #pool: WorkerPool;

  constructor(options: WasmBackendOptions) {
    this.#options = options;
    this.files = new ModuleFiles(options.enginesFolder);
    this.#cache = new ModuleCache({ folder: options.cacheFolder, workerBinary: options.workerBinary });
    this.#pool = new WorkerPool(options.maxWorkers);
  }

  get workers(): WorkerPool["size"] {
    return this.#pool.size;
  }

  /** Everything is in place for the module to be called. Rejects where it cannot be. */
  async open(spec: ModuleCallSpec, signal?: AbortSignal): Promise<WasmCall> {
    const folders = foldersOf(spec);
    if (folders.length > 0) {
      const worker = await this.#start(this.#options.jailsAhead, spec, folders, signal);
      const drop = (ended: WasmWorker) => void ended.end().catch(() => {});
      return new WasmCall(spec.id, worker, { give: null, drop }, worker.isWarm);
    }
    const kind = kindOf(spec);
    const waiting = await this.#pool.take(kind, signal);
    try {
      const worker = waiting ?? (await this.#start(this.#options.jails, shared(spec), [], signal));
      const release = {
        give: (served: WasmWorker) => this.#pool.give(kind, served),
        drop: (served: WasmWorker) => this.#pool.drop(served),
      };
      return new WasmCall(spec.id, worker, release, waiting !== null);
    } catch (error) {
      this.#pool.drop(waiting);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  /** A cache that another version of the engine filled is filled again, once. */
  async #start(
    jails: Backend,
    spec: ModuleCallSpec,
    folders: readonly WasmFolder[],
    signal?: AbortSignal,
  ): Promise<WasmWorker> {
    try {
      try {
        return await this.#startOnce(jails, spec, folders, signal);
      } catch (error) {
        if (!(error instanceof WasmRefused) || error.code !== "stale") throw error;
        this.#cache.drop(spec.digest);
        return await this.#startOnce(jails, spec, folders, signal);
      }
    } catch (error) {
      throw asNotExecutable(error, nameOf(spec.module));
    }
  }

  async #startOnce(
    jails: Backend,
    spec: ModuleCallSpec,
    folders: readonly WasmFolder[],
    signal?: AbortSignal,
  ): Promise<WasmWorker> {
    // Others may wait for the same module: it is compiled to the end, whoever goes away.
    const making = this.#cache.folderOf(
      spec.digest,
      () => this.files.read(spec.module, spec.digest),
      (module) => this.#compile(module, spec),
    );
    const compiled = await unlessAborted(making, signal);
    const { memoryMiB } = spec.policy.resources;
    const mount = { host: compiled, guest: MODULE_FOLDER, readonly: true };
    const worker = await WasmWorker.start(jails, this.#bootSpec(spec, memoryMiB + WORKER_MIB, [mount]), signal);
    try {
      await worker.load({
        path: `${MODULE_FOLDER}/${COMPILED_NAME}`,
        memoryMiB: Math.min(memoryMiB, 4096),
        folders,
        interface: spec.module.kind === "language" ? engines[spec.module.language].interface : "wasi",
      });
      return worker;
    } catch (error) {
      await worker.end();
      throw error;
    }
  }

  async #compile(module: Buffer, spec: ModuleCallSpec): Promise<readonly Buffer[]> {
    const boot = this.#bootSpec(shared(spec), COMPILER_MIB, []);
    const compiler = await WasmWorker.start(this.#options.jails, boot);
    try {
      return await compiler.compile(module);
    } finally {
      await compiler.end();
    }
  }

  #bootSpec(spec: ModuleCallSpec, memoryMiB: number, own: Policy["fs"]["mounts"]): BootSpec {
    const { policy } = spec;
    const resources = { ...policy.resources, memoryMiB, pids: WORKER_PIDS };
    return {
      id: spec.id,
      hostname: spec.hostname,
      projectDir: spec.projectDir,
      homeDir: null,
      image: { kind: "layers", layers: [this.#cache.emptyRoot()] },
      policy: { ...policy, resources, fs: { ...policy.fs, mounts: [...policy.fs.mounts, ...own] } },
    };
  }
}

async function unlessAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return await work;
  signal.throwIfAborted();
  const gone = deferred<never>();
  const leave = () => gone.reject(signal.reason);
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([work, gone.promise]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/** The folders that the policy shows, as the module sees them. */
function foldersOf({ policy: { fs } }: ModuleCallSpec): readonly WasmFolder[] {
  const { mode, readonly } = fs.workspace;
  return [
    ...(mode === "none" ? [] : [{ path: "/workspace", readonly }]),
    ...fs.mounts.map((mount) => ({ path: mount.guest, readonly: mount.readonly })),
  ];
}

/** A worker for many calls has nothing of the one that it was started for. */
function shared(spec: ModuleCallSpec): ModuleCallSpec {
  const fs = { ...spec.policy.fs, workspace: { mode: "none", readonly: true } as const, mounts: [] };
  return { ...spec, hostname: "wasm", projectDir: null, policy: { ...spec.policy, fs } };
}

function kindOf({ policy, digest, module, caller }: ModuleCallSpec): string {
  const { vcpus, memoryMiB, openFiles } = policy.resources;
  const engine = module.kind === "language" ? module.language : "wasi";
  return JSON.stringify([digest, engine, caller, vcpus, memoryMiB, openFiles]);
}
