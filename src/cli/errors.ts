/** An error as the user sees it: what failed, why, what to do next; never a stack unless it is asked for. */
import { type AgentKernelError, errorTable, isAgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import { redactor } from "../core/redact.js";
import { secretValues } from "../core/secret-names.js";
import type { Invocation } from "../invocation/index.js";
import { writeErr, writeJson } from "./output.js";

/** Prints it where it belongs and returns the exit status. */
export async function reportError(
  invocation: Pick<Invocation, "env" | "stdout" | "stderr">,
  error: unknown,
  { json }: { readonly json: boolean },
): Promise<number> {
  // Messages repeat what the user or a sandbox wrote, and end up in logs of others.
  const redact = redactor(secretValues(invocation.env));
  const clean: Clean = (text) => escapeText(redact.text(text));
  const shown = isAgentKernelError(error) ? describe(error, clean) : describeFault(error, clean);
  if (json) await writeJson(invocation, { success: false, error: shown });
  else await writeErr(invocation, errorText(shown));
  if (invocation.env.AGENTKERNEL_DEBUG === "1") await writeErr(invocation, stackText(error));
  return errorTable[shown.code].exit;
}

type Clean = (text: string) => string;

interface ShownError {
  readonly code: AgentKernelError["code"];
  readonly message: string;
  readonly hint: string | null;
}

function describe({ code, message, hint }: AgentKernelError, clean: Clean): ShownError {
  return { code, message: clean(message), hint: hint === undefined ? null : clean(hint) };
}

function describeFault(error: unknown, clean: Clean): ShownError {
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return {
    code: "internal",
    message: `${clean(reason)} (this is a fault of agentkernel)`,
    hint: "run it again with AGENTKERNEL_DEBUG=1 to see where it happened, and report it",
  };
}

function errorText({ message, hint }: ShownError): string {
  return `agentkernel: ${message}\n${hint === null ? "" : `  hint: ${hint}\n`}`;
}

/** The stack of the error and of what caused it, line by line. */
function stackText(error: unknown): string {
  const lines: string[] = [];
  for (let current = error, depth = 0; current instanceof Error && depth < 8; current = current.cause, depth++) {
    const stack = current.stack ?? String(current);
    lines.push(...stack.split("\n").map((line) => escapeText(depth === 0 ? line : `caused by: ${line}`)));
  }
  return lines.map((line) => `${line}\n`).join("");
}
