/** `run`: a temporary sandbox for one command. */
import { isPlace } from "../../runtime/root-image.js";
import { readConfiguration } from "../configuration.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { poolSettings } from "../pool-settings.js";
import { prepareRun } from "../prepare-run.js";

/** Questions need the terminal itself, and a place may be a pipe that somebody has to wait at. */
export function runsApart({ flags, values }: ParsedOptions): boolean {
  return flags.has("ask") || isPlace(values.get("image")?.[0] ?? "");
}

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const configuration = await readConfiguration(parsed, invocation);
  invocation.resident?.pool.configure(poolSettings(configuration.daemon));
  const request = prepareRun(parsed, invocation, configuration);
  return await (await import("../run/execute.js")).execute(request, invocation);
}
