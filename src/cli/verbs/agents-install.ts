/** `agents install`: writes into an agent's own files what it needs to use sandboxes. */

import type { Invocation } from "../../invocation/index.js";
import { integrate } from "../agents/integrate.js";
import type { ParsedOptions } from "../option-spec.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  return await integrate("install", parsed, invocation);
}
