/** `diff`: what a sandbox changed in its copy of the project. */
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { sandboxFiles } from "../sandboxes/files.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { diff } = await import("../changes/diff.js");
  return await diff(parsed, invocation, sandboxFiles(invocation));
}
