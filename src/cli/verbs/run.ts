/** `run`: a temporary sandbox for one command. */

import { withAgentInside } from "../../request/agent-inside.js";
import { readConfiguration } from "../../request/configuration.js";
import { prepareRun } from "../../request/prepare-run.js";
import { isPlace } from "../../runtime/root-image.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";

/** Questions need the terminal itself, and a place may be a pipe that somebody has to wait at. */
export function runsApart({ flags, values }: ParsedOptions): boolean {
  return flags.has("ask") || isPlace(values.get("image")?.[0] ?? "");
}

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const wishes = withAgentInside(parsed, invocation);
  const request = prepareRun(wishes, invocation, await readConfiguration(wishes, invocation));
  return await (await import("../run/execute.js")).execute(request, invocation);
}
