/** `snapshot`: keeps what a sandbox has written and, in a machine, what it has in memory. */

import type { Invocation } from "../../invocation/index.js";
import { wordsOf } from "../images/words.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";
import { sandboxesOf, sandboxOf } from "../sandboxes/residents.js";
import { shownSnapshot } from "../sandboxes/shown-snapshot.js";
import { whileWaited } from "../sandboxes/while-waited.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [name = ""] = wordsOf(parsed, "snapshot", "the name of a sandbox", 1, 1);
  const sandbox = sandboxOf(invocation, name);
  const { snapshots } = sandboxesOf(invocation);
  const options = { name: parsed.values.get("name")?.[0], owner: null, memory: !parsed.flags.has("no-memory") };
  const { info } = await whileWaited(invocation, (signal) => snapshots.take(sandbox, { ...options, signal }));
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: shownSnapshot(info) });
  return await writeOut(invocation, `${info.name}\n`);
}
