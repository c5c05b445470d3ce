/** A command line that only a daemon can serve, from a process that is none: starts one where none is up. */

import { AgentKernelError } from "../core/errors.js";
import type { Invocation } from "../invocation/index.js";
import { bringUp } from "./bring-up.js";
import { relay } from "./relay.js";
import { daemonPlace } from "./socket-place.js";

/** A daemon may end, or be replaced, between the look and the call. */
const ATTEMPTS = 3;

/** Returns the exit status. */
export async function throughDaemon(words: readonly string[], verb: string, invocation: Invocation): Promise<number> {
  const { env, homeDir } = invocation;
  if (env.AGENTKERNEL_DAEMON === "off") {
    throw new AgentKernelError("conflict", `${verb} needs the daemon, and AGENTKERNEL_DAEMON=off forbids it`, {
      hint: "leave AGENTKERNEL_DAEMON out for this verb",
    });
  }
  const place = daemonPlace(env, homeDir);
  // The daemon itself knows how long it stays on demand.
  const stay = { onDemand: true, idleTimeoutMs: null };
  const say = async (line: string) => {
    await invocation.stderr.write(`agentkernel: ${line}\n`);
  };
  let reason = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await bringUp({ place, env, stay, logPath: null, say });
    const end = await relay(words, env);
    if (end.how === "status") return end.status;
    if (end.how === "signal") {
      invocation.dieBy(end.signal);
      return 128 + end.signal;
    }
    reason = end.reason;
  }
  throw new AgentKernelError("conflict", `${verb} needs the daemon, which does not serve this: ${reason}`, {
    hint: "agentkernel daemon status tells of it",
  });
}
