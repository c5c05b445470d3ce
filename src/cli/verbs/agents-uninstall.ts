/** `agents uninstall`: takes it out again. */

import type { Invocation } from "../../invocation/index.js";
import { integrate } from "../agents/integrate.js";
import type { ParsedOptions } from "../option-spec.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  return await integrate("uninstall", parsed, invocation);
}
