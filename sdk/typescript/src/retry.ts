/**
 * When a request may be sent once more: where nothing of it reached the server, where the server refused it before doing
 * anything, and for requests that only read. Never a command that may have run.
 */
import { ApiError, TransportError } from "./errors.js";

const FIRST_PAUSE_MS = 100;
/** Whoever is told to wait for longer decides about it. */
const MAX_PAUSE_MS = 30_000;

/** How long to wait before the next attempt; null: there is none. */
export function pauseBeforeRetry(error: unknown, method: string, attempt: number): number | null {
  if (error instanceof TransportError) {
    return error.isUnsent || method === "GET" ? backOff(attempt) : null;
  }
  if (!(error instanceof ApiError) || !mayRepeat(error, method)) return null;
  const pauseMs = error.retryAfterMs ?? backOff(attempt);
  return pauseMs > MAX_PAUSE_MS ? null : pauseMs;
}

function mayRepeat({ code, status }: ApiError, method: string): boolean {
  if (code === "too_many_requests") return true;
  return method === "GET" && status !== null && [429, 502, 503, 504].includes(status);
}

function backOff(attempt: number): number {
  return FIRST_PAUSE_MS * 2 ** attempt * (0.5 + Math.random() / 2);
}
