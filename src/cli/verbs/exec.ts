/** `exec`: a command in a sandbox that stays. */
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { parseExecArguments } = await import("../sandboxes/exec-arguments.js");
  const { executeIn } = await import("../sandboxes/execute.js");
  return await executeIn(parseExecArguments(parsed, invocation), invocation);
}
