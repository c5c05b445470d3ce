/** `stop`: ends what runs in sandboxes that stay; with `--all` or `--all-of-user`, every sandbox at once. */
import { parseTypedDurationMs } from "../../policy/resources.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { forEach } from "../sandboxes/each.js";
import { sandboxOf } from "../sandboxes/residents.js";

const USUAL_GRACE_MS = 10_000;

/** The kill switch must not depend on whom it is to end. */
export function runsApart({ flags }: ParsedOptions): boolean {
  return isKillSwitch(flags);
}

export function needsDaemon({ flags }: ParsedOptions): boolean {
  return !isKillSwitch(flags);
}

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  if (isKillSwitch(parsed.flags)) return await (await import("../sandboxes/stop-all.js")).stopAll(parsed, invocation);
  const text = parsed.values.get("timeout")?.[0];
  const graceMs = text === undefined ? USUAL_GRACE_MS : parseTypedDurationMs("--timeout", text);
  return await forEach(parsed, invocation, "stop", async (name) => {
    await sandboxOf(invocation, name).stop({ graceMs });
  });
}

function isKillSwitch(flags: ParsedOptions["flags"]): boolean {
  return flags.has("all") || flags.has("all-of-user");
}
