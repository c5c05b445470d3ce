/** `apply`: takes over what a sandbox changed. */
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { sandboxFiles } from "../sandboxes/files.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { apply } = await import("../changes/apply.js");
  return await apply(parsed, invocation, sandboxFiles(invocation));
}
