/** `daemon start`: a daemon in the background, unless one is up. */
import { setTimeout as delay } from "node:timers/promises";
import { buildId } from "../../core/build-id.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { askDaemon } from "../../daemon/ask.js";
import { startInBackground } from "../../daemon/own-process.js";
import { type DaemonPlace, daemonPlace } from "../../daemon/socket-place.js";
import type { DaemonStatus } from "../../daemon/status.js";
import { idleTimeoutMs, logPath } from "../daemon-options.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

/** How long a daemon that was started by another may take to listen. */
const OTHERS_START_MS = 5000;
const LOOK_AGAIN_MS = 20;

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const place = daemonPlace(invocation.env, invocation.homeDir);
  const idleMs = idleTimeoutMs(parsed);
  const before = await runningDaemon(place);
  if (before !== null && before.build !== buildId()) {
    throw new AgentKernelError("conflict", `a daemon of another build is up (process ${before.pid})`, {
      hint: "it serves none of your command lines; end it with agentkernel daemon stop, then start this one",
    });
  }
  if (before === null) {
    const log = logPath(parsed, invocation) ?? place.logPath;
    try {
      await startInBackground(["--log", log, ...(idleMs === null ? [] : ["--idle-timeout", `${idleMs}ms`])]);
    } catch (error) {
      // Another one, started at the same moment, may have been faster, and need not listen yet.
      if (!(await comesUp(place, isAlreadyRunning(error)))) throw error;
    }
  }
  const status = before ?? (await runningDaemon(place));
  if (status === null) throw new AgentKernelError("internal", "the daemon ended as soon as it had started");
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: status });
  const what = before === null ? "the daemon is up" : "a daemon was up already";
  return await writeOut(invocation, `${what}: process ${status.pid}, ${escapeText(status.socket)}\n`);
}

async function comesUp(place: DaemonPlace, isExpected: boolean): Promise<boolean> {
  const until = performance.now() + (isExpected ? OTHERS_START_MS : 0);
  do {
    if ((await runningDaemon(place)) !== null) return true;
    await delay(LOOK_AGAIN_MS);
  } while (performance.now() < until);
  return false;
}

/** The words of a daemon that found another owner; it could say them only on stderr. */
function isAlreadyRunning(error: unknown): boolean {
  return error instanceof Error && error.message.includes("a daemon of yours is running already");
}

/** One that is about to end is waited for. */
async function runningDaemon(place: DaemonPlace): Promise<DaemonStatus | null> {
  const status = (await askDaemon(place, "GET", "/daemon")) as DaemonStatus | null;
  if (status?.stopping !== true) return status;
  await askDaemon(place, "POST", "/daemon/stop");
  return null;
}
