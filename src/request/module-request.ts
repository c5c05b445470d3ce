/** Which WebAssembly module a run is about, where it is about one, and what does not go together with one. */
import { resolve } from "node:path";
import { engines, type Language, languages } from "../backends/wasm/languages.js";
import type { BackendRequest } from "../core/backend-request.js";
import { AgentKernelError } from "../core/errors.js";
import type { Surroundings } from "../core/surroundings.js";
import type { ModuleCall } from "../runtime/run-request.js";
import type { SettingName } from "../settings/wording.js";
import { ofPrograms, type RunSpec } from "./run-spec.js";

/** A run of a module, as words: the module's own name first. */
interface RequestedModule {
  readonly call: ModuleCall;
  readonly argv: readonly string[];
  /** What rules about commands are held against. */
  readonly command: string;
}

const inapplicableSwitches = ["tty", "ask"] as const;

export function requestedModule(
  spec: RunSpec,
  backend: BackendRequest["name"],
  { cwd }: Pick<Surroundings, "cwd">,
): RequestedModule | null {
  if (backend !== "wasm") {
    refuseElsewhere(spec);
    return null;
  }
  refuseInapplicable(spec);
  const language = languageOf(spec);
  const { argv, module, caller = "" } = spec.exec;
  const [first, ...rest] = argv;
  if (first === undefined) {
    throw new AgentKernelError("unsupported", "the backend wasm calls a module, and none is named", {
      hint: "agentkernel run --backend wasm module.wasm; modules have no sandboxes that stay",
    });
  }
  if (module !== undefined) {
    if (language !== null) throw contradiction(spec, "lang", "a module was given as well");
    return {
      call: { source: { kind: "bytes", bytes: module, name: first }, caller },
      argv,
      command: first,
    };
  }
  if (language !== null) {
    const words = engines[language].argv(argv);
    return { call: { source: { kind: "language", language }, caller }, argv: words, command: language };
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

function languageOf({ exec, nameOf }: RunSpec): Language | null {
  const { lang: named } = exec;
  if (named === undefined) return null;
  const found = languages.find((language) => language === named);
  if (found !== undefined) return found;
  throw new AgentKernelError("invalid_argument", `${nameOf("lang")}: there is no engine for "${named}"`, {
    hint: `use one of ${languages.join(", ")}; an engine that is compiled for wasm32-wasip1 runs as a module`,
  });
}

function refuseInapplicable(spec: RunSpec): void {
  const { sandbox, exec } = spec;
  const stated =
    ofPrograms.find((name) => sandbox[name] !== undefined) ??
    inapplicableSwitches.find((name) => exec[name] === true) ??
    null;
  if (stated !== null) throw contradiction(spec, stated, "it means nothing to a WebAssembly module");
  const egress = sandbox["net.egress"];
  if (egress !== undefined && egress !== "off") {
    throw contradiction(spec, "net.egress", "a WebAssembly module reaches no network");
  }
}

function refuseElsewhere({ exec, nameOf }: RunSpec): void {
  if (exec.lang === undefined && exec.module === undefined) return;
  const field = exec.lang === undefined ? "module" : "lang";
  const name = field === "lang" ? nameOf("lang") : field;
  throw new AgentKernelError("invalid_argument", `${name} is for the backend wasm`, {
    hint: (wording) => `add ${wording.with("backend", "wasm")}`,
    details: { field },
  });
}

function contradiction({ nameOf }: RunSpec, setting: SettingName, why: string): AgentKernelError {
  return new AgentKernelError(
    "invalid_argument",
    ({ with: stated }) => `${nameOf(setting)} contradicts ${stated("backend", "wasm")}: ${why}`,
    { hint: "leave one of them out", details: { field: setting, reason: why } },
  );
}
