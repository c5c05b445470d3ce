/** `daemon stop`: ends the daemon, and what it runs as by SIGTERM. */
import { askDaemon } from "../../daemon/ask.js";
import { daemonPlace } from "../../daemon/socket-place.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const answer = await askDaemon(daemonPlace(invocation.env, invocation.homeDir), "POST", "/daemon/stop");
  const stopped = answer !== null;
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: { stopped } });
  return await writeOut(invocation, stopped ? "the daemon has ended\n" : "no daemon was up\n");
}
