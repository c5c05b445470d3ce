/** `restore`: a new sandbox from a snapshot. */

import type { Invocation } from "../../invocation/index.js";
import { wordsOf } from "../images/words.js";
import type { ParsedOptions } from "../option-spec.js";
import { makeCopy } from "../sandboxes/make-copy.js";
import { sandboxesOf } from "../sandboxes/residents.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [snapshot = "", name = ""] = wordsOf(parsed, "restore", "a snapshot and the name of the new sandbox", 2, 2);
  const sandboxes = sandboxesOf(invocation);
  const source = sandboxes.snapshots.source(snapshot);
  return await makeCopy(parsed, invocation, name, (request) => sandboxes.createCopy(source, request));
}
