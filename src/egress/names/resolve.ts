/** The interface of a resolver. */

export interface ResolvedName {
  /** Empty: there is no such name, or it has no address. */
  readonly addresses: readonly string[];
  readonly ttlMs?: number;
}

/** `signal`: the sandbox is gone, and nobody waits for the answer any more. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<ResolvedName>;
