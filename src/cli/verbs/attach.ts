/** `attach`: a terminal in a sandbox that stays. */
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { parseAttachArguments } = await import("../sandboxes/attach-arguments.js");
  const { attachTo } = await import("../sandboxes/attach.js");
  return await attachTo(parseAttachArguments(parsed, invocation), invocation);
}
