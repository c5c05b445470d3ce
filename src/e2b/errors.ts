/** Errors as E2B's clients read them: a number and a message over HTTP, a word and a message over Connect. */

import { type ErrorAnswer, errorAnswer } from "../api/http/error-answer.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import type { Redactor } from "../core/redact.js";

interface E2bError {
  readonly status: number;
  readonly headers: ErrorAnswer["headers"];
  readonly code: string;
  readonly message: string;
}

export function e2bError(error: unknown, redact: Redactor): E2bError {
  const { status, headers, error: told } = errorAnswer(error, redact);
  const message = told.hint === null ? told.message : `${told.message} (${told.hint})`;
  return { status: statusOf(error, status), headers, code: told.code, message };
}

/** Statuses that their clients give a meaning to, where ours would say something else. */
function statusOf(error: unknown, status: number): number {
  if (!isAgentKernelError(error)) return status;
  const { code, details } = error;
  if (code === "file_error" && details.code === "not_found") return 404;
  if (code === "resource_exhausted" && details.code === "no_space") return 507;
  if (code === "sandbox_died" || details.code === "gone") return 502;
  return status;
}

/** What the proxy in front of sandboxes answers for one that is gone. Clients look for these words. */
export function sandboxGone(name: string): AgentKernelError {
  return new AgentKernelError("not_found", `The sandbox ${name.slice(0, 80)} was not found`, {
    details: { code: "gone" },
  });
}

export function unsupported(what: string, instead: string): AgentKernelError {
  return new AgentKernelError("unsupported", `agentkernel does not serve ${what} to clients of E2B`, {
    hint: instead,
  });
}

export function invalid(field: string, message: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `${field} ${message}`, { details: { field } });
}

export type ConnectCode =
  | "canceled"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "unauthenticated";

const connectCodes: Readonly<Record<number, ConnectCode>> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  405: "unimplemented",
  409: "already_exists",
  413: "resource_exhausted",
  415: "invalid_argument",
  429: "resource_exhausted",
  501: "unimplemented",
  502: "unavailable",
  503: "unavailable",
  507: "resource_exhausted",
};

export function connectCode({ status }: E2bError): ConnectCode {
  return connectCodes[status] ?? "internal";
}

/** By which status a single answer of Connect says its code. */
export const connectStatuses: Readonly<Record<ConnectCode, number>> = {
  canceled: 499,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  unauthenticated: 401,
};
