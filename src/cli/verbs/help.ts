/** `help`: the overview, or a verb's own help. */
import { overviewHelp, verbHelp } from "../help.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeOut } from "../output.js";
import { findVerb } from "../verbs.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  if (parsed.rest.length === 0) return await writeOut(invocation, overviewHelp());
  return await writeOut(invocation, verbHelp(findVerb(parsed.rest).verb));
}
