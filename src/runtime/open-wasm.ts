/** The backend for WebAssembly, made of jails. */
import { cpus } from "node:os";
import { WasmBackend } from "../backends/wasm/index.js";
import { nativeBinary } from "../core/native-binary.js";
import { compiledModulesFolder, wasmEnginesFolder } from "../core/state-folders.js";
import { type JailHost, jailsWith } from "./open-backend.js";
import { pooledBackend } from "./pool/pooled-backend.js";

/** Calls at once; more of them wait. */
const WORKERS_PER_CORE = 2;
const FEWEST_WORKERS = 4;

export function openWasm(host: JailHost): WasmBackend {
  const workerBinary = nativeBinary("ak-wasm");
  const jails = jailsWith(workerBinary, host);
  return new WasmBackend({
    jails,
    jailsAhead: host.resident ? pooledBackend(jails, host.resident.pool) : jails,
    workerBinary,
    cacheFolder: compiledModulesFolder(host.env, host.homeDir),
    enginesFolder: wasmEnginesFolder(host.env, host.homeDir),
    maxWorkers: Math.max(FEWEST_WORKERS, cpus().length * WORKERS_PER_CORE),
  });
}
