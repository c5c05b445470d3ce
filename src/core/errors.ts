/**
 * The one error type. Codes and what they mean at each edge come from spec/errors.json, the table that
 * the docs and the SDKs are made from too. A command that exits non-zero is a result, never an error.
 */
import table from "../../spec/errors.json" with { type: "json" };
import { commandLine, inWording, type Phrase, type Wording } from "../settings/wording.js";

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
  readonly hint?: Phrase;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

const MARK: unique symbol = Symbol.for("agentkernel.error") as never;

export class AgentKernelError extends Error {
  readonly [MARK] = true;
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  readonly #message: Phrase;
  readonly #hint: Phrase | undefined;

  /** `message` and `hint` as such are in the words of the command line. */
  constructor(code: ErrorCode, message: Phrase, { hint, details = {}, cause }: ErrorExtras = {}) {
    super(inWording(message, commandLine), cause === undefined ? undefined : { cause });
    this.name = "AgentKernelError";
    this.code = code;
    this.hint = hint === undefined ? undefined : inWording(hint, commandLine);
    this.details = details;
    this.#message = message;
    this.#hint = hint;
  }

  /** Message and hint for the readers of another interface. */
  textsIn(wording: Wording): { readonly message: string; readonly hint: string | undefined } {
    // A message that was changed after construction is the newer one.
    const message = typeof this.#message === "string" ? this.message : this.#message(wording);
    return { message, hint: this.#hint === undefined ? undefined : inWording(this.#hint, wording) };
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
