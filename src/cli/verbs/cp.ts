/** `cp`: files into, out of and between sandboxes. */
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { sandboxFiles } from "../sandboxes/files.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { cp } = await import("../copy/cp.js");
  return await cp(parsed, invocation, sandboxFiles(invocation));
}
