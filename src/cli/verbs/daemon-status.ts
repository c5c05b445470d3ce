/** `daemon status`: whether a daemon is up, and what it does. Status 0 if it is, 1 if not. */
import { buildId } from "../../core/build-id.js";
import { escapeText } from "../../core/escape.js";
import { askDaemon } from "../../daemon/ask.js";
import { daemonPlace } from "../../daemon/socket-place.js";
import { type DaemonStatus, statusText } from "../../daemon/status.js";
import type { Invocation } from "../../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeJson, writeOut } from "../output.js";

const NOT_RUNNING_STATUS = 1;

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const place = daemonPlace(invocation.env, invocation.homeDir);
  const status = (await askDaemon(place, "GET", "/daemon")) as DaemonStatus | null;
  const exit = status === null ? NOT_RUNNING_STATUS : 0;
  if (parsed.flags.has("json")) {
    await writeJson(invocation, { success: true, data: status ?? { up: false } });
    return exit;
  }
  if (status === null) {
    await writeOut(invocation, "Daemon: not running\n");
    return exit;
  }
  const lines = statusText(status).split("\n");
  await writeOut(invocation, lines.map((line) => `${escapeText(line)}\n`).join(""));
  if (status.build !== buildId()) {
    await writeErr(
      invocation,
      "agentkernel: the daemon is of another build and serves none of your command lines; agentkernel daemon reload replaces it\n",
    );
  }
  return exit;
}
