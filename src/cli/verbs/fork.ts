/** `fork`: a second sandbox with everything that one has written. */

import type { Invocation } from "../../invocation/index.js";
import { wordsOf } from "../images/words.js";
import type { ParsedOptions } from "../option-spec.js";
import { makeCopy } from "../sandboxes/make-copy.js";
import { sandboxesOf, sandboxOf } from "../sandboxes/residents.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [source = "", name = ""] = wordsOf(parsed, "fork", "a sandbox and the name of the new one", 2, 2);
  const sandbox = sandboxOf(invocation, source);
  return await makeCopy(parsed, invocation, name, (request) => sandboxesOf(invocation).fork(sandbox, request));
}
