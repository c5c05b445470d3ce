/** `attach`: a terminal in a sandbox that stays. */
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { attachWishOf } = await import("../sandboxes/attach-wish.js");
  const { attachTo } = await import("../sandboxes/attach.js");
  return await attachTo(attachWishOf(parsed, invocation), invocation);
}
