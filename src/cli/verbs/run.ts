/** `run`: a temporary sandbox for one command. */
import type { ParsedOptions } from "../option-spec.js";
import { prepareRun } from "../prepare-run.js";
import { readSurroundings } from "../surroundings.js";

export async function execute(parsed: ParsedOptions): Promise<number> {
  const request = prepareRun(parsed, readSurroundings());
  return await (await import("../run/execute.js")).execute(request);
}
