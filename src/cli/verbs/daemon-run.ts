/** `daemon run`: the daemon in the foreground. */
import { FileLog, StderrLog } from "../../daemon/log.js";
import { readyLine, runDaemon } from "../../daemon/own-process.js";
import { daemonPlace } from "../../daemon/socket-place.js";
import { idleTimeoutMs, logPath } from "../daemon-options.js";
import type { Invocation } from "../invocation/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const place = daemonPlace(invocation.env, invocation.homeDir);
  const path = logPath(parsed, invocation);
  const log = path === null ? new StderrLog() : new FileLog(path);
  const { env, homeDir } = invocation;
  const options = { place, own: { env, homeDir }, log, logPath: path, idleTimeoutMs: idleTimeoutMs(parsed) };
  await runDaemon(options, async () => {
    await writeOut(invocation, readyLine);
  });
  return 0;
}
