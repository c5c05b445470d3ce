/** `daemon run`: the daemon in the foreground; also what a daemon in the background is. */
import { makeRoom } from "../../daemon/bring-up.js";
import { FileLog, StderrLog } from "../../daemon/log.js";
import { runDaemon } from "../../daemon/own-process.js";
import { daemonPlace } from "../../daemon/socket-place.js";
import { answeringStarter, isInBackground } from "../../daemon/starter.js";
import { logPath } from "../daemon-options.js";
import { readStay } from "../daemon-stay.js";
import type { Invocation } from "../invocation/index.js";
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
    const options = { place, own, log, logPath: path, stay: await read(), readStay: read, isBackground, service };
    await runDaemon(options, async () => {
      await sayReady();
    });
  };
  await (isBackground ? answeringStarter(run) : run(() => writeOut(invocation, "ready\n")));
  return 0;
}
