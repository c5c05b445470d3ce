/** An error as a caller gets it: the one form, with nothing in it that is not theirs to know. */
import { type AgentKernelError, errorTable, isAgentKernelError } from "../../core/errors.js";
import type { Redactor } from "../../core/redact.js";
import { fieldOfPath, jsonRequest } from "../../settings/wording.js";

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: {
    readonly code: AgentKernelError["code"];
    readonly message: string;
    readonly hint: string | null;
    readonly details?: Readonly<Record<string, unknown>>;
  };
}

/** Details that are about the request, and not about this machine. */
const TOLD = ["field", "max_bytes", "retry_after_s", "allowed", "code"];

export function errorAnswer(error: unknown, redact: Redactor): ErrorAnswer {
  if (!isAgentKernelError(error)) {
    const message = "a fault of the server's own; its log has the request's id";
    return { status: 500, headers: {}, error: { code: "internal", message, hint: "report it, with what was asked" } };
  }
  const { code } = error;
  const { message, hint } = error.textsIn(jsonRequest);
  const told = Object.entries(error.details)
    .filter(([key]) => TOLD.includes(key))
    .map(([key, value]) => [key, key === "field" ? (fieldOfPath(String(value)) ?? value) : value]);
  return {
    status: errorTable[code].http,
    headers: headersOf(error),
    error: {
      code,
      message: redact.text(message),
      hint: hint === undefined ? null : redact.text(hint),
      ...(told.length === 0 ? {} : { details: Object.fromEntries(told) }),
    },
  };
}

function headersOf({ code, details }: AgentKernelError): Readonly<Record<string, string>> {
  if (code === "unauthorized") return { "www-authenticate": 'Bearer realm="agentkernel"' };
  if (code === "method_not_allowed") return { allow: (details.allowed as readonly string[]).join(", ") };
  if (errorTable[code].http === 429 || code === "stopping")
    return { "retry-after": String(details.retry_after_s ?? 1) };
  return {};
}
