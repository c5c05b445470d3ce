/** `daemon start`: a daemon in the background that stays, unless one is up. */
import { escapeText } from "../../core/escape.js";
import { askDaemon } from "../../daemon/ask.js";
import { bringUp } from "../../daemon/bring-up.js";
import { daemonPlace } from "../../daemon/socket-place.js";
import type { Invocation } from "../../invocation/index.js";
import { logPath } from "../daemon-options.js";
import { readStay } from "../daemon-stay.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { env, homeDir } = invocation;
  const place = daemonPlace(env, homeDir);
  const stay = await readStay(parsed, { env, homeDir, cwd: "/" });
  const say = (line: string) => writeErr(invocation, `agentkernel: ${line}\n`);
  const { status, wasUp } = await bringUp({ place, env, stay, logPath: logPath(parsed, invocation), say });
  const staying = status.on_demand ? await askDaemon(place, "POST", "/daemon/stay") : status;
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: staying ?? status });
  const what = wasUp
    ? `a daemon was up already${status.on_demand ? ", and stays from now on" : ""}`
    : "the daemon is up";
  return await writeOut(invocation, `${what}: process ${status.pid}, ${escapeText(status.socket)}\n`);
}
