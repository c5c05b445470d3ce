/** A command with its options, as a request's body. */
import type { CallOptions } from "./connection.js";
import { toWire } from "./wire.js";

/** The server's own, where none is named. */
const DEFAULT_COMMAND_MS = 30_000;

export interface CommandCall extends CallOptions {
  readonly json: Record<string, unknown>;
  readonly commandMs: number;
}

export function commandCall(
  command: readonly string[],
  { signal, requestTimeoutMs, ...options }: CallOptions & { readonly timeoutMs?: number | undefined },
): CommandCall {
  return {
    signal,
    requestTimeoutMs,
    json: { command, ...toWire(options) },
    commandMs: options.timeoutMs ?? DEFAULT_COMMAND_MS,
  };
}
