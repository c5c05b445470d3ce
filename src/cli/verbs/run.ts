/** `run`: a temporary sandbox for one command. */
import { readConfiguration } from "../configuration.js";
import type { ParsedOptions } from "../option-spec.js";
import { prepareRun } from "../prepare-run.js";
import { readSurroundings } from "../surroundings.js";

export async function execute(parsed: ParsedOptions): Promise<number> {
  const surroundings = readSurroundings();
  const request = prepareRun(parsed, surroundings, await readConfiguration(parsed, surroundings));
  return await (await import("../run/execute.js")).execute(request);
}
