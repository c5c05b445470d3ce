/** `completions`: static text for a shell, made from the option tables. */

import type { Invocation } from "../../invocation/index.js";
import { completionsFor } from "../completions.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  return await writeOut(invocation, completionsFor(parsed.rest[0] ?? ""));
}
