/** Collects the destinations that a persistent sandbox was denied while one of its commands ran. */
import type { Blocked } from "./sandbox-egress.js";

/** Counts from now on. Commands that run side by side are told of each other's. */
export function blockedSince(port: { readonly blocked: readonly Blocked[] }): () => readonly Blocked[] {
  const before = new Map(port.blocked.map((blocked) => [keyOf(blocked), blocked.times]));
  return () =>
    port.blocked
      .map((blocked) => ({ ...blocked, times: blocked.times - (before.get(keyOf(blocked)) ?? 0) }))
      .filter(({ times }) => times > 0);
}

function keyOf({ host, port }: Blocked): string {
  return `${host}:${port ?? ""}`;
}
