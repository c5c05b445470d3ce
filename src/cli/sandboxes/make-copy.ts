/** A new sandbox that begins as a copy, for a command line: made, and started where that was asked for. */
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";

import type { PublishedPort } from "../../runtime/published-ports.js";
import type { Sandbox, Sandboxes } from "../../runtime/sandboxes/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";
import { parsePublished } from "../run-spec.js";
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
  const publish = publishedInstead(parsed.values.get("publish"));
  const sandbox = await whileWaited(invocation, async (signal) => {
    const memory = !parsed.flags.has("no-memory");
    const made = await make({ name, owner: null, hostEnv, signal, memory, publish });
    if (parsed.flags.has("start")) await startOrRemove(made, { hostEnv, signal });
    return made;
  });
  if (parsed.flags.has("json"))
    return await writeJson(invocation, { success: true, data: shownSummary(sandbox.summary()) });
  return await writeOut(invocation, `${sandbox.name}\n`);
}

/** Undefined: the ports that the original publishes. */
function publishedInstead(texts: readonly string[] | undefined): readonly PublishedPort[] | undefined {
  if (texts?.includes("none") !== true) return texts?.map(parsePublished);
  if (texts.length === 1) return [];
  throw new AgentKernelError("invalid_argument", "--publish none publishes no port, and can have no other beside it");
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
