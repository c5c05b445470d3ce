/** Every way in which a call can fail. All are `AgentKernelError`; what the server refused is an `ApiError`. */
import { type ErrorCode, errorTable } from "./error-codes.js";

export class AgentKernelError extends Error {
  override readonly name: string = "AgentKernelError";
}

export interface ApiErrorBody {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | null;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The server said no, and why. */
export class ApiError extends AgentKernelError {
  override readonly name = "ApiError";
  /** Of the table in spec/errors.json; a newer server may know more. */
  readonly code: ErrorCode | (string & {});
  /** Of HTTP; null where the error came within a stream or a batch. */
  readonly status: number | null;
  /** What to do next. */
  readonly hint: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  /** How long the server wants to be left alone. */
  readonly retryAfterMs: number | null;
  /** The same call may work later. */
  readonly isRetryable: boolean;

  constructor(body: ApiErrorBody, status: number | null = null, retryAfterMs: number | null = null) {
    super(body.message);
    this.code = body.code;
    this.status = status;
    this.hint = body.hint ?? null;
    this.details = body.details ?? {};
    this.retryAfterMs = retryAfterMs;
    this.isRetryable = body.code in errorTable && errorTable[body.code as ErrorCode].retryable;
  }
}

/** Where no server listens. */
export const START_HINT =
  "Start one with `agentkernel daemon start` or `agentkernel serve`, or name another in AGENTKERNEL_BASE_URL.";

/** The server was not reached, or the connection broke. */
export class TransportError extends AgentKernelError {
  override readonly name = "TransportError";
  /** Nothing of the request can have reached the server. */
  readonly isUnsent: boolean;

  constructor(message: string, options: { readonly cause?: unknown; readonly isUnsent?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.isUnsent = options.isUnsent ?? false;
  }
}

/** The answer did not come in time. A command has a limit of its own, `timeoutMs`, whose end is a result. */
export class RequestTimeoutError extends AgentKernelError {
  override readonly name = "RequestTimeoutError";
}

/** Something answered that is not agentkernel, or of another version. */
export class BadAnswerError extends AgentKernelError {
  override readonly name = "BadAnswerError";
}

/** `isApiError(error, "not_found", "conflict")` */
export function isApiError(error: unknown, ...codes: readonly ErrorCode[]): error is ApiError {
  return error instanceof ApiError && (codes.length === 0 || codes.some((code) => code === error.code));
}
