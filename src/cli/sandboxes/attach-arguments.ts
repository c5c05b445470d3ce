/** Parses the arguments of `attach`. */
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { parseEnv } from "../run-spec.js";
import { parseDetachKeys, USUAL_DETACH_KEYS } from "./detach-keys.js";

/** Options of a new terminal. */
interface NewTerminal {
  /** Null: a shell. */
  readonly argv: readonly string[] | null;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  readonly user: string | null;
}

export interface AttachArguments {
  readonly name: string;
  readonly detachKeys: readonly number[];
  /** `any`: one that nobody looks at, else a new one. */
  readonly which: { readonly id: string } | "new" | "any";
  readonly fresh: NewTerminal;
}

/** Options that say what a new terminal is like, and so ask for one. */
const OF_NEW = ["shell", "env", "workdir", "user"] as const;

export function parseAttachArguments(parsed: ParsedOptions, { env }: Pick<Invocation, "env">): AttachArguments {
  const { flags, values, rest } = parsed;
  const [name, ...command] = rest;
  if (name === undefined) throw invalid("attach needs the name of a sandbox");
  const shell = values.get("shell")?.[0];
  const id = values.get("terminal")?.[0];
  if (shell !== undefined && command.length > 0) throw invalid("--shell contradicts a command");
  if (shell === "") throw invalid("--shell: it needs the name of a program");
  const forNew = [...OF_NEW.filter((option) => values.has(option)).map((option) => `--${option}`)];
  if (flags.has("new")) forNew.push("--new");
  if (command.length > 0) forNew.push("a command");
  if (id !== undefined && forNew[0] !== undefined) throw invalid(`--terminal contradicts ${forNew[0]}`);
  return {
    name,
    detachKeys: parseDetachKeys(values.get("detach-keys")?.[0] ?? USUAL_DETACH_KEYS),
    which: id !== undefined ? { id } : forNew.length > 0 ? "new" : "any",
    fresh: {
      argv: command.length > 0 ? command : shell === undefined ? null : [shell],
      env: Object.fromEntries((values.get("env") ?? []).map((word) => parseEnv(word, env))),
      cwd: values.get("workdir")?.[0] ?? null,
      user: values.get("user")?.[0] ?? null,
    },
  };
}

function invalid(message: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", message, { hint: "agentkernel attach --help shows how it is used" });
}
