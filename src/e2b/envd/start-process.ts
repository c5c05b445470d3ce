/** A command of a client, started in its sandbox, with a place of its caller's for as long as it runs. */

import { refuseOtherUser } from "../../api/commands/ceilings.js";
import { timeWithin } from "../../api/commands/key-limits.js";
import { hostEnvFor } from "../../api/resources/sandboxes.js";
import { deferred } from "../../core/deferred.js";
import { isAgentKernelError } from "../../core/errors.js";
import { type EnvdCall, pathInside, userOf } from "./call.js";
import type { StartRequest } from "./process-messages.js";
import { Process, type ProcessFacts, type Watcher } from "./processes.js";

/** Settles when it runs: `onStarted` was called, and no output was given before. Returns how to look away. */
export async function startProcess(
  call: EnvdCall,
  asked: StartRequest,
  watcher: Watcher,
  onStarted: (pid: number) => void,
): Promise<() => void> {
  const { host, caller, sandbox } = call;
  const started = deferred<() => void>();
  // The command outlives its request, and so does the wait for its end.
  const held = host.backing.places.at(caller, call.signal, async (leaveAlone) => {
    const process = await begin(call, asked, watcher, onStarted);
    host.backing.places.charge(caller, process.exec.guest);
    call.processes.add(sandbox, process);
    const stopWatching = host.backing.whileValid(caller, () => process.exec.abandon());
    started.resolve(() => process.lookAway(watcher));
    leaveAlone();
    await process.over;
    stopWatching();
  });
  held.catch(started.reject);
  return await started.promise;
}

async function begin(
  call: EnvdCall,
  { process: wanted, pty, stdin = true, tag }: StartRequest,
  watcher: Watcher,
  onStarted: (pid: number) => void,
): Promise<Process> {
  const { host, caller, sandbox, record } = call;
  const user = userOf(call);
  refuseOtherUser(caller, user ?? undefined, sandbox.record.policy);
  const cwd = pathInside(call, wanted.cwd ?? "");
  const envs = Object.fromEntries(wanted.envs ?? []);
  const words = [wanted.cmd, ...(wanted.args ?? [])];
  const options = {
    hostEnv: hostEnvFor(caller, host.backing).hostEnv,
    cwd,
    env: { HOME: record.home, ...envs },
    user,
    stdin: pty === undefined && stdin,
    tty: pty === undefined ? null : { cols: pty.size?.cols || 80, rows: pty.size?.rows || 24 },
    timeoutMs: timeWithin(caller, {
      asked: timeoutOf(call),
      own: sandbox.record.policy.resources.timeoutMs,
      usual: null,
    }),
    detached: false,
  };
  const start = async (argv: readonly string[]) => {
    const exec = await sandbox.exec({ ...options, argv });
    return { exec, pid: (await exec.guest.opened).pid };
  };
  const { exec, pid } = await start(words).catch(async (error: unknown) => {
    // Small images have no bash; what their clients send is nearly always plain sh.
    if (wanted.cmd !== BASH || !isAgentKernelError(error) || error.code !== "command_not_found") throw error;
    return await start(["/bin/sh", ...words.slice(1)]);
  });
  const facts: ProcessFacts = { cmd: wanted.cmd, args: wanted.args ?? [], envs, cwd: wanted.cwd, tag };
  onStarted(pid);
  return new Process(pid, exec, facts, options.stdin || options.tty !== null, watcher);
}

const BASH = "/bin/bash";

/** A limit of their clients is the command's, not only the request's. */
function timeoutOf({ request }: EnvdCall): number | undefined {
  const given = request.headers["connect-timeout-ms"];
  return typeof given === "string" && /^\d{1,10}$/.test(given) && Number(given) > 0 ? Number(given) : undefined;
}
