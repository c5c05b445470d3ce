/** `daemon stop`: ends the daemon, and what it runs as by SIGTERM. Sandboxes that stay go on, unless all is to end. */
import { askDaemon } from "../../daemon/ask.js";
import { daemonPlace } from "../../daemon/socket-place.js";
import { count } from "../../daemon/status.js";
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const place = daemonPlace(invocation.env, invocation.homeDir);
  const path = parsed.flags.has("all") ? "/daemon/stop-all" : "/daemon/stop";
  const answer = (await askDaemon(place, "POST", path)) as { readonly ended?: number } | null;
  const stopped = answer !== null;
  const ended = answer?.ended ?? 0;
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: { stopped, ended } });
  const all = ended > 0 ? `, and ${count(ended, "sandbox")} with it` : "";
  return await writeOut(invocation, stopped ? `the daemon has ended${all}\n` : "no daemon was up\n");
}
