/** A new sandbox that begins as a copy, for a command line: made, and started where that was asked for. */

import type { Invocation } from "../../invocation/index.js";
import type { Sandbox, Sandboxes } from "../../runtime/sandboxes/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";
import { shownSummary } from "./shown.js";
import { whileWaited } from "./while-waited.js";

type CopyRequest = Parameters<Sandboxes["fork"]>[1];

export async function makeCopy(
  parsed: ParsedOptions,
  invocation: Invocation,
  name: string,
  make: (request: CopyRequest) => Promise<Sandbox>,
): Promise<number> {
  const { env: hostEnv } = invocation;
  const sandbox = await whileWaited(invocation, async (signal) => {
    const made = await make({ name, owner: null, hostEnv, signal, memory: !parsed.flags.has("no-memory") });
    if (parsed.flags.has("start")) await startOrRemove(made, { hostEnv, signal });
    return made;
  });
  if (parsed.flags.has("json"))
    return await writeJson(invocation, { success: true, data: shownSummary(sandbox.summary()) });
  return await writeOut(invocation, `${sandbox.name}\n`);
}

/** What was to run and does not is of no use to whoever asked. */
async function startOrRemove(sandbox: Sandbox, options: Parameters<Sandbox["start"]>[0]): Promise<void> {
  try {
    await sandbox.start(options);
  } catch (error) {
    await sandbox.remove({ force: true });
    throw error;
  }
}
