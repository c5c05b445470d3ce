/** `run`: a temporary sandbox for one command. */
import { readConfiguration } from "../configuration.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { prepareRun } from "../prepare-run.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const request = prepareRun(parsed, invocation, await readConfiguration(parsed, invocation));
  return await (await import("../run/execute.js")).execute(request, invocation);
}
