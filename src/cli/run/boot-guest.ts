/** Proof that sandboxes work here: one is booted and a command run in it. */

import type { Invocation } from "../../invocation/index.js";
import { bootAndRun } from "../../runtime/backends/boot-proof.js";
import { openBackend } from "../../runtime/open-backend.js";

export async function bootGuest(invocation: Invocation, signal: AbortSignal): Promise<{ readonly ms: number }> {
  return await bootAndRun(openBackend(invocation), signal);
}
