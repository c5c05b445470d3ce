/** `daemon run`: the daemon in the foreground; also what a daemon in the background is. */
import { isAgentKernelError } from "../../core/errors.js";
import { makeRoom } from "../../daemon/bring-up.js";
import type { Stay } from "../../daemon/lifetime.js";
import { FileLog, type Log, StderrLog } from "../../daemon/log.js";
import { runDaemon } from "../../daemon/own-process.js";
import { daemonPlace } from "../../daemon/socket-place.js";
import { answeringStarter, isInBackground } from "../../daemon/starter.js";
import type { Invocation } from "../../invocation/index.js";
import { daemonCommands } from "../daemon-commands.js";
import { logPath } from "../daemon-options.js";
import { readStay, USUAL_LINGER_MS } from "../daemon-stay.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { env, homeDir } = invocation;
  const isBackground = isInBackground(env);
  // Its folder changes below.
  const path = logPath(parsed, invocation);
  const read = () => readStay(parsed, { env, homeDir, cwd: "/" });
  const run = async (sayReady: () => unknown) => {
    const log = path === null ? new StderrLog() : new FileLog(path);
    const service = env.AGENTKERNEL_SERVICE || null;
    const place = daemonPlace(env, homeDir);
    if (service !== null) await makeRoom(place);
    const own = { env, homeDir };
    const stay = await read().catch((error: unknown) => stayAnyway(error, log));
    const options = {
      place,
      own,
      commands: daemonCommands,
      log,
      logPath: path,
      stay,
      readStay: read,
      isBackground,
      service,
    };
    await runDaemon(options, async () => {
      await sayReady();
    });
  };
  await (isBackground ? answeringStarter(run) : run(() => writeOut(invocation, "ready\n")));
  return 0;
}

/**
 * Only one on demand reads the configuration file for this. Its owner may need it to stop or remove sandboxes, which no
 * file has a say in; a verb that the file has a say in refuses it by itself.
 */
function stayAnyway(error: unknown, log: Log): Stay {
  if (!isAgentKernelError(error) || error.code !== "invalid_policy") throw error;
  log.say(`the configuration has no say in how long it stays: ${error.message}`);
  return { onDemand: true, idleTimeoutMs: USUAL_LINGER_MS };
}
