/** `stop`: ends what runs in sandboxes that stay. */
import { parseDurationMs } from "../../policy/resources.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { forEach } from "../sandboxes/each.js";
import { sandboxOf } from "../sandboxes/residents.js";

const USUAL_GRACE_MS = 10_000;

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const text = parsed.values.get("timeout")?.[0];
  const graceMs = text === undefined ? USUAL_GRACE_MS : parseDurationMs("--timeout", text);
  return await forEach(parsed, invocation, "stop", async (name) => {
    await sandboxOf(invocation, name).stop({ graceMs });
  });
}
