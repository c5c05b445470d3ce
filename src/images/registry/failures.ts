/** What can go wrong with a registry, in words of our own: a registry's text is never repeated, since it may echo
 * what we sent to it. */
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";

/** A failure that may be gone at the next attempt. */
export class TransientFailure extends Error {
  readonly failure: AgentKernelError;
  readonly retryAfterMs: number | null;

  constructor(failure: AgentKernelError, retryAfterMs: number | null = null) {
    super(failure.message, { cause: failure });
    this.failure = failure;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Marks errors that our own side of a connection raised. */
type ConnectionFault = "address-refused" | "no-answer" | "stalled" | "proxy";

export class ConnectionFaultError extends Error {
  readonly fault: ConnectionFault;

  constructor(fault: ConnectionFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

const certificateCodes =
  /^(?:CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|ERR_TLS_CERT)/;

export function unsafe(message: string, hint: string): AgentKernelError {
  return new AgentKernelError("registry_untrusted", message, { hint });
}

/** The server at the other end does not speak TLS at all. */
export function isNotTls(error: unknown): boolean {
  return error instanceof Error && /wrong version number|packet length too long|http request/.test(error.message);
}

/** Raised by a connection, and not by a fault of our own or by whoever takes the bytes. */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof ConnectionFaultError) return true;
  return !isAgentKernelError(error) && !(error instanceof TypeError) && codeOf(error) !== "";
}

function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  if ("code" in error && typeof error.code === "string") return error.code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return "";
}

/** An error of the connection. Those of a connection that had been made are worth another attempt. */
export function connectionFailure(host: string, error: unknown): AgentKernelError | TransientFailure {
  const failure = (message: string, hint: string): AgentKernelError =>
    new AgentKernelError("registry_unreachable", message, { hint, cause: error, details: { host } });
  if (error instanceof ConnectionFaultError) {
    if (error.fault === "address-refused")
      return unsafe(error.message, "the registry, or the DNS answer for it, is at fault");
    if (error.fault === "proxy") return failure(error.message, "check HTTPS_PROXY and NO_PROXY");
    return new TransientFailure(failure(`${host} ${error.message}`, "try again, or name a mirror of the registry"));
  }
  const code = codeOf(error);
  const offline = "check the network; an image that is in the store needs none";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "ENODATA") {
    return failure(`the address of ${host} cannot be looked up (${code})`, offline);
  }
  if (code === "ECONNREFUSED") return failure(`nothing listens at ${host}`, "check the registry's name and port");
  if (["EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "ENETDOWN"].includes(code)) {
    return failure(`there is no route to ${host} (${code})`, offline);
  }
  if (certificateCodes.test(code)) {
    const hint = "give the authority's certificate in NODE_EXTRA_CA_CERTS if you trust it";
    return new AgentKernelError("registry_untrusted", `the TLS certificate of ${host} is not valid (${code})`, {
      hint,
      cause: error,
    });
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    const hint = "plain HTTP is only used with a registry on this machine's loopback";
    return new AgentKernelError("registry_untrusted", `no TLS connection can be made with ${host} (${code})`, {
      hint,
      cause: error,
    });
  }
  if (code.startsWith("HPE_")) {
    return new AgentKernelError("registry_error", `${host} does not speak HTTP (${code})`, { cause: error });
  }
  return new TransientFailure(
    failure(`the connection to ${host} broke${code === "" ? "" : ` (${code})`}`, "try again"),
  );
}

interface StatusContext {
  readonly host: string;
  /** What was asked for, in the user's words. */
  readonly subject: string;
  readonly hadCredentials: boolean;
  readonly retryAfterMs: number | null;
}

const retriedStatuses = new Set([408, 425, 500, 502, 503, 504]);

export function statusFailure(status: number, context: StatusContext): AgentKernelError | TransientFailure {
  const { host, hadCredentials, retryAfterMs } = context;
  const subject = escapeText(context.subject);
  const details = { host, status };
  if (status === 401 || status === 403) {
    const message = hadCredentials
      ? `${host} refused the login for ${subject} (${status})`
      : `${host} wants a login for ${subject}, or has no such image (${status})`;
    return new AgentKernelError("registry_unauthorized", message, {
      hint: `check the name, then log in: docker login ${host}`,
      details,
    });
  }
  if (status === 404) {
    return new AgentKernelError("image_not_found", `${host} has no ${subject}`, {
      hint: "check the name and the tag",
      details,
    });
  }
  if (status === 429) {
    const wait = retryAfterMs === null ? "" : `; it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;
    const failure = new AgentKernelError("rate_limited", `${host} allows no more downloads for now${wait}`, {
      hint: hadCredentials ? "wait, or name a mirror" : `wait, log in (docker login ${host}), or name a mirror`,
      details,
    });
    return new TransientFailure(failure, retryAfterMs);
  }
  const failure = new AgentKernelError("registry_error", `${host} answered ${status} for ${subject}`, { details });
  return retriedStatuses.has(status) ? new TransientFailure(failure, retryAfterMs) : failure;
}

export function nonsense(host: string, what: string): AgentKernelError {
  return new AgentKernelError("registry_error", `${host} ${what}`, {
    hint: "it may be no registry, or a proxy in between changed the answer",
    details: { host },
  });
}
