/** Somebody who counts what a long-lived process does. Told by whoever does it; must never throw. */
export interface Meter {
  /** A sandbox stands, so long after it was asked for. */
  started(start: { readonly kind: "run" | "named"; readonly isWarm: boolean; readonly ms: number }): void;
  startFailed(code: string): void;
  /** A command has ended. */
  ended(command: { readonly ms: number; readonly timedOut: boolean }): void;
  egress(verdict: "allowed" | "denied"): void;
}
