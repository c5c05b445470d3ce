/** `help`: the overview, or a verb's own help. */
import { overviewHelp, verbHelp } from "../help.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeOut } from "../output.js";
import { findVerb } from "../verbs.js";

export async function execute(parsed: ParsedOptions): Promise<number> {
  if (parsed.rest.length === 0) return await writeOut(overviewHelp());
  return await writeOut(verbHelp(findVerb(parsed.rest).verb));
}
