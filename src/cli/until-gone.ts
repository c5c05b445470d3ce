/** Work that also ends when nobody waits for it any more. */
import type { Invocation } from "../invocation/index.js";

export function untilGone({ gone }: Pick<Invocation, "gone">, signal: AbortSignal): AbortSignal {
  return gone === null ? signal : AbortSignal.any([gone.signal, signal]);
}
