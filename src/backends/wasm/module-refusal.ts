/** Turns a worker's refusal of a module into an error of ours. */
import { AgentKernelError } from "../../core/errors.js";
import { WasmRefused } from "../../guest/index.js";

const hints: Readonly<Record<string, string>> = {
  not_wasm: "name a file that a compiler made for the target wasm32-wasip1 (or wasm32-wasi)",
  component: "compile it for wasm32-wasip1: modules of WASI preview 1 run here, components do not",
  too_large: "a module has at most 64 MiB",
  invalid: "it must be a command of WASI preview 1, within the limits that docs/wasm.md lists",
};

/** As a program that was found and cannot be executed; anything else is passed on. */
export function asNotExecutable(error: unknown, name: string): unknown {
  if (!(error instanceof WasmRefused) || error.code === "io" || error.code === "stale") return error;
  const { code, message } = error;
  const extras = { details: { code, reason: message }, cause: error };
  const hint = hints[code];
  return new AgentKernelError("command_not_executable", `${name}: the module cannot be run: ${message}`, {
    ...extras,
    ...(hint === undefined ? {} : { hint }),
  });
}
