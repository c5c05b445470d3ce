/** `exec`: a command in a sandbox that stays. */
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { execWishOf } = await import("../sandboxes/exec-wish.js");
  const { executeIn } = await import("../sandboxes/execute.js");
  return await executeIn(execWishOf(parsed, invocation), invocation);
}
