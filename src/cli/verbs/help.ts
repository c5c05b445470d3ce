/** `help`: the overview, or a verb's own help. */

import type { Invocation } from "../../invocation/index.js";
import { familyHelp, overviewHelp, verbHelp } from "../help.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeOut } from "../output.js";
import { familyOf, findVerb } from "../verbs.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  if (parsed.rest.length === 0) return await writeOut(invocation, overviewHelp());
  const family = parsed.rest.length === 1 ? familyOf(parsed.rest[0] ?? "") : [];
  if (family.length > 0) return await writeOut(invocation, familyHelp(family));
  return await writeOut(invocation, verbHelp(findVerb(parsed.rest).verb));
}
