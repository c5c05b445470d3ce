/** Commands in named sandboxes: at once, as events, or left to themselves. */
import { deferred } from "../../core/deferred.js";
import { exitStatus } from "../../runtime/command-end.js";
import { awaitCommand } from "../../runtime/run-once.js";
import { endCommand } from "../../runtime/sandboxes/end-command.js";
import type { Sandbox, SandboxExec } from "../../runtime/sandboxes/index.js";
import { type ApiCall, type Backing, type HandlerFor, sandboxFor } from "../call.js";
import { type CapturedField, capture, stdinOf, succeeded } from "../commands/captured.js";
import { refuseOtherUser } from "../commands/ceilings.js";
import { EventsOfCommand } from "../commands/command-events.js";
import { timeWithin } from "../commands/key-limits.js";
import { DEFAULT_TIMEOUT_MS } from "../commands/prepare.js";
import { data } from "../http/reply.js";
import type { ExecAnswer, ExecStreamBody } from "../operations/execs.js";
import { roundedMs } from "./runs.js";
import { hostEnvFor } from "./sandboxes.js";

type ExecCall = ApiCall<ExecStreamBody, unknown>;

export const exec: HandlerFor<"exec"> = async (asked, backing) => {
  const startedAt = performance.now();
  const { body, caller, params, signal } = asked;
  const stdin = stdinOf(body);
  const sandbox = sandboxFor(caller, backing, params.name);
  if (body.detach === true) return data(await detach(asked, sandbox, backing), 202);
  const room = backing.outputs.open(caller.id);
  try {
    const output = capture(sandbox.record.policy.resources.outputMiB, body.encoding ?? "utf8", room);
    const { command, end } = await backing.places.at(caller, signal, () =>
      streamExec(asked, sandbox, backing, { stdin, connect: output.connect, onNamed: () => {}, onStarted: () => {} }),
    );
    const rest: Omit<ExecAnswer, CapturedField> = {
      exit_code: exitStatus(end),
      duration_ms: roundedMs(performance.now() - startedAt),
      timed_out: end.timedOut,
      sandbox: sandbox.name,
      exec: command.id,
    };
    return { kind: "json", pieces: succeeded(output.json(rest)), release: room.release };
  } catch (error) {
    room.release();
    throw error;
  }
};

export const execStream: HandlerFor<"execStream"> = async (asked, backing) => {
  const startedAt = performance.now();
  const { body, caller, params, signal } = asked;
  const stdin = stdinOf(body);
  const sandbox = sandboxFor(caller, backing, params.name);
  return {
    kind: "events",
    write: (response) =>
      EventsOfCommand.tell(response, body.encoding ?? "utf8", backing.redactFor(caller), async (events) => {
        const { command, end } = await backing.places.at(caller, signal, () =>
          streamExec(asked, sandbox, backing, {
            stdin,
            connect: (guest) => events.connect(guest),
            onNamed: (id) => events.named({ sandbox: sandbox.name, exec: id }),
            onStarted: () => events.started(),
          }),
        );
        return {
          code: exitStatus(end),
          duration_ms: roundedMs(performance.now() - startedAt),
          timed_out: end.timedOut,
          sandbox: sandbox.name,
          exec: command.id,
        };
      }),
  };
};

export const killExec: HandlerFor<"killExec"> = async ({ caller, params }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  const { id, state } = await endCommand(sandbox, params.exec);
  return data({ exec: id, sandbox: sandbox.name, state });
};

async function detach(asked: ExecCall, sandbox: Sandbox, backing: Backing): Promise<object> {
  const { caller, signal } = asked;
  const answered = deferred<object>();
  const held = backing.places.at(caller, signal, async (leaveAlone) => {
    const command = await start(asked, sandbox, backing, true, false);
    await command.guest.opened;
    const stopWatching = backing.whileValid(caller, () => command.abandon());
    answered.resolve({ exec: command.id, sandbox: sandbox.name });
    leaveAlone();
    await command.over;
    stopWatching();
  });
  held.catch(answered.reject);
  return await answered.promise;
}

interface Streams {
  readonly stdin: Buffer | null;
  readonly connect: (guest: SandboxExec["guest"]) => Promise<unknown>;
  readonly onNamed: (id: string) => void;
  readonly onStarted: () => void;
}

async function streamExec(asked: ExecCall, sandbox: Sandbox, backing: Backing, streams: Streams) {
  const { signal } = asked;
  const { stdin } = streams;
  const startedAt = performance.now();
  const command = await start(asked, sandbox, backing, false, stdin !== null);
  streams.onNamed(command.id);
  command.guest.opened.then(streams.onStarted, () => {});
  try {
    const flushed = streams.connect(command.guest);
    const end = await awaitCommand({ exec: command.guest, wait: command.wait, stdin, signal, flushed });
    backing.metrics.ended({ ms: performance.now() - startedAt, timedOut: end.timedOut });
    return { command, end };
  } finally {
    // Whoever asked for it is done with it, whatever became of it.
    command.abandon();
  }
}

/** A command in a sandbox that does not run means that it should. */
async function start(asked: ExecCall, sandbox: Sandbox, backing: Backing, detached: boolean, stdin: boolean) {
  const { body, caller, signal } = asked;
  refuseOtherUser(caller, body.user, sandbox.record.policy);
  // A limit of the sandbox's own holds for every command in it.
  const own = sandbox.record.policy.resources.timeoutMs;
  const timeoutMs = timeWithin(caller, { asked: body.timeout_ms, own, usual: detached ? null : DEFAULT_TIMEOUT_MS });
  const { hostEnv } = hostEnvFor(caller, backing);
  if (sandbox.state === "created" || sandbox.state === "stopped") await sandbox.start({ hostEnv, signal });
  const command = await sandbox.exec({
    argv: body.command,
    hostEnv,
    cwd: body.cwd ?? null,
    env: Object.fromEntries(body.env ?? []),
    user: body.user ?? null,
    stdin,
    timeoutMs,
    detached,
  });
  backing.places.charge(caller, command.guest);
  return command;
}
