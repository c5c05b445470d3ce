/**
 * The one error type. Codes and what they mean at each edge come from spec/errors.json, the table that
 * the docs and the SDKs are made from too. A command that exits non-zero is a result, never an error.
 */
import table from "../../spec/errors.json" with { type: "json" };

export type ErrorCode = keyof typeof table;

interface ErrorMeaning {
  readonly http: number;
  readonly exit: number;
  readonly retryable: boolean;
  readonly summary: string;
}

export const errorTable: Readonly<Record<ErrorCode, ErrorMeaning>> = table;

interface ErrorExtras {
  /** The next step for the reader. */
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

const MARK: unique symbol = Symbol.for("agentkernel.error") as never;

export class AgentKernelError extends Error {
  readonly [MARK] = true;
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = "AgentKernelError";
    this.code = code;
    this.hint = extras.hint;
    this.details = extras.details ?? {};
  }

  get meaning(): ErrorMeaning {
    return errorTable[this.code];
  }
}

/** Recognised by its mark, not by class: two copies of this module agree. */
export function isAgentKernelError(value: unknown): value is AgentKernelError {
  return typeof value === "object" && value !== null && MARK in value;
}

/** A code that another program of ours sent; what is not in the table is a fault of ours. */
export function errorCodeOf(value: unknown): ErrorCode {
  return typeof value === "string" && Object.hasOwn(table, value) ? (value as ErrorCode) : "internal";
}
