/**
 * The worker for WebAssembly in a checkout. Its engine takes minutes to compile, so the set-up of a first run leaves it
 * out and the first call of a module has it made (scripts/setup.sh wasm). A package has it from the start.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { distFolder } from "../core/build-id.js";
import { AgentKernelError } from "../core/errors.js";
import { hasNativeBinary } from "../core/native-binary.js";

export interface WorkerSetup {
  readonly isThere: () => boolean;
  /** The set-up script of this checkout. */
  readonly script: string;
}

function ownPlace(): WorkerSetup {
  return {
    isThere: () => hasNativeBinary("ak-wasm"),
    script: join(dirname(distFolder()), "scripts", "setup.sh"),
  };
}

/** The script that compiles it; null where it is already compiled, or where this is no checkout. */
export function missingWorkerScript({ isThere, script }: WorkerSetup = ownPlace()): string | null {
  return !isThere() && existsSync(script) ? script : null;
}

/**
 * `terminal`: whether the user sees this process's stderr, where the set-up tells its steps. A daemon has no such place,
 * and nobody is to wait for minutes without a word.
 */
export async function workerMade(terminal: boolean, signal?: AbortSignal, place?: WorkerSetup): Promise<void> {
  const script = missingWorkerScript(place);
  if (script === null) return;
  if (!terminal) throw notMade(`${script} wasm makes it, which takes some minutes the first time`);
  const child = spawn("sh", [script, "wasm"], { stdio: ["ignore", "ignore", "inherit"], signal });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (status !== 0) throw notMade(`repair what ${script} wasm complains of`);
}

function notMade(hint: string): AgentKernelError {
  return new AgentKernelError("backend_unavailable", "the worker for WebAssembly is not compiled in this checkout", {
    hint,
  });
}
