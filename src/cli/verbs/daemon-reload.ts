/** `daemon reload`: another daemon, of this build and with the configuration as it is now, takes the place of this one. */
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { askDaemon } from "../../daemon/ask.js";
import { bringUp } from "../../daemon/bring-up.js";
import { daemonPlace } from "../../daemon/socket-place.js";
import type { DaemonStatus } from "../../daemon/status.js";
import type { Invocation } from "../../invocation/index.js";
import { checkUserFile } from "../daemon-stay.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { env, homeDir } = invocation;
  const place = daemonPlace(env, homeDir);
  const before = (await askDaemon(place, "GET", "/daemon")) as DaemonStatus | null;
  if (before === null) {
    throw new AgentKernelError("not_found", "no daemon is up that could be replaced", {
      hint: "agentkernel daemon start starts one",
    });
  }
  // The one that is up is not ended for one that could not make anything of its configuration.
  await checkUserFile({ env, homeDir, cwd: "/" });
  const say = (line: string) => writeErr(invocation, `agentkernel: ${line}\n`);
  const stay = { onDemand: before.on_demand, idleTimeoutMs: before.idle_timeout_ms };
  const { status } = await bringUp({ place, env, stay, logPath: before.log, anew: true, say });
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: status });
  return await writeOut(invocation, `the daemon is up: process ${status.pid}, ${escapeText(status.socket)}\n`);
}
