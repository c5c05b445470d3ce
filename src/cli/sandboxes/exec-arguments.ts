/** Parses the arguments of `exec`. */
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";
import { parseTypedDurationMs } from "../../policy/resources.js";
import { graceOf } from "../grace.js";
import type { ParsedOptions } from "../option-spec.js";
import { parseEnv } from "../run-spec.js";

export interface ExecArguments {
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  readonly user: string | null;
  /** Undefined: the policy's. */
  readonly timeoutMs: number | undefined;
  /** After a signal that was passed on. */
  readonly graceMs: number;
  readonly tty: boolean;
  readonly detached: boolean;
  readonly json: boolean;
}

export function parseExecArguments(parsed: ParsedOptions, { env }: Pick<Invocation, "env">): ExecArguments {
  const { flags, values } = parsed;
  const [name = "", ...words] = parsed.rest;
  const argv = words[0] === "--" ? words.slice(1) : words;
  if (argv.length === 0) {
    throw new AgentKernelError("invalid_argument", "exec needs the name of a sandbox and a command", {
      hint: "for example: agentkernel exec box ls -l",
    });
  }
  if (words[0] !== "--" && argv[0]?.startsWith("-")) {
    throw new AgentKernelError("invalid_argument", `"${argv[0]}" is no command`, {
      hint: "options come before the name of the sandbox: agentkernel exec [options] NAME COMMAND",
    });
  }
  const switches = { tty: flags.has("tty"), json: flags.has("json"), detached: flags.has("detach") };
  refuseContradiction(switches);
  const timeout = values.get("timeout")?.[0];
  return {
    name,
    argv,
    ...switches,
    env: Object.fromEntries((values.get("env") ?? []).map((word) => parseEnv(word, env))),
    cwd: values.get("workdir")?.[0] ?? null,
    user: values.get("user")?.[0] ?? null,
    timeoutMs: timeout === undefined ? undefined : parseTypedDurationMs("--timeout", timeout),
    graceMs: graceOf(parsed),
  };
}

function refuseContradiction({ tty, json, detached }: Pick<ExecArguments, "tty" | "json" | "detached">): void {
  if (!tty || !json || detached) return;
  throw new AgentKernelError("invalid_argument", "--tty contradicts --json", {
    hint: "a terminal's output is for people; leave one of them out",
  });
}
