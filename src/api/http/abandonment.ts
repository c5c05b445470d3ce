/** When nobody waits for one answer any more, or for any. */
export interface Abandonment {
  readonly signal: AbortSignal;
  abort(): void;
  /** The answer is given; `all` is not listened to any more. */
  end(): void;
}

/**
 * What `AbortSignal.any` makes stays in memory while somebody listens to it, and a trace of it in each of its sources;
 * `all` lives as long as the server, so each request would cost memory for good.
 */
export function abandonmentBeside(all: AbortSignal): Abandonment {
  const own = new AbortController();
  const abort = () => own.abort();
  if (all.aborted) abort();
  else all.addEventListener("abort", abort, { once: true });
  return { signal: own.signal, abort, end: () => all.removeEventListener("abort", abort) };
}
