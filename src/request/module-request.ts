/** Which WebAssembly module a run is about, where it is about one, and what does not go together with one. */
import { resolve } from "node:path";
import { engines, type Language, languages } from "../backends/wasm/languages.js";
import type { BackendRequest } from "../core/backend-request.js";
import { AgentKernelError } from "../core/errors.js";
import type { Surroundings } from "../core/surroundings.js";
import type { ModuleCall } from "../runtime/run-request.js";
import { ofPrograms, type RequestOptions } from "./request-options.js";

/** A run of a module, as words: the module's own name first. */
interface RequestedModule {
  readonly call: ModuleCall;
  readonly argv: readonly string[];
  /** What rules about commands are held against. */
  readonly command: string;
}

const inapplicableFlags = ["tty", "ask", "keep"] as const;

export function requestedModule(
  parsed: RequestOptions,
  backend: BackendRequest["name"],
  { cwd }: Pick<Surroundings, "cwd">,
): RequestedModule | null {
  if (backend !== "wasm") {
    refuseElsewhere(parsed);
    return null;
  }
  refuseInapplicable(parsed);
  const language = languageOf(parsed);
  const [first, ...rest] = parsed.rest;
  if (first === undefined) {
    throw new AgentKernelError("unsupported", "the backend wasm calls a module, and none is named", {
      hint: "agentkernel run --backend wasm module.wasm; modules have no sandboxes that stay",
    });
  }
  const caller = parsed.caller ?? "";
  if (parsed.module !== undefined) {
    if (language !== null) throw contradiction("lang", "a module was given as well");
    return {
      call: { source: { kind: "bytes", bytes: parsed.module, name: first }, caller },
      argv: parsed.rest,
      command: first,
    };
  }
  if (language !== null) {
    const argv = engines[language].argv(parsed.rest);
    return { call: { source: { kind: "language", language }, caller }, argv, command: language };
  }
  if (first === "") throw new AgentKernelError("invalid_argument", "the command is an empty word");
  const path = resolve(cwd, first);
  return { call: { source: { kind: "file", path, name: first }, caller }, argv: [first, ...rest], command: first };
}

/** Named nowhere: what a `.wasm` file is meant to be run by is the user's to say. */
export function explainModule(argv0: string | undefined): void {
  if (argv0 === undefined || !/\.wasm$/i.test(argv0)) return;
  throw new AgentKernelError("invalid_argument", `${argv0} is a WebAssembly module, which no kernel runs by itself`, {
    hint: `agentkernel run --backend wasm ${argv0} calls it; or name the program that is to run it, such as wasmtime`,
  });
}

function languageOf({ values }: RequestOptions): Language | null {
  const named = values.get("lang")?.[0];
  if (named === undefined) return null;
  const found = languages.find((language) => language === named);
  if (found !== undefined) return found;
  throw new AgentKernelError("invalid_argument", `--lang: there is no engine for "${named}"`, {
    hint: `use one of ${languages.join(", ")}; an engine that is compiled for wasm32-wasip1 runs as a module`,
  });
}

function refuseInapplicable({ values, flags }: RequestOptions): void {
  const option =
    ofPrograms.find((name) => values.has(name)) ?? inapplicableFlags.find((name) => flags.has(name)) ?? null;
  if (option !== null) throw contradiction(option, "it means nothing to a WebAssembly module");
  const network = values.get("network")?.[0];
  if (network !== undefined && network !== "off") {
    throw contradiction("network", "a WebAssembly module reaches no network");
  }
}

function refuseElsewhere({ values, module }: RequestOptions): void {
  if (!values.has("lang") && module === undefined) return;
  throw new AgentKernelError(
    "invalid_argument",
    `${values.has("lang") ? "--lang" : "module"} is for the backend wasm`,
    {
      hint: "add --backend wasm",
      details: { field: values.has("lang") ? "lang" : "module" },
    },
  );
}

function contradiction(option: string, why: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `--${option} contradicts --backend wasm: ${why}`, {
    hint: "leave one of them out",
  });
}
