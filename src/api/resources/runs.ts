/** Commands in temporary sandboxes: at once, or as events. */
import { deferred } from "../../core/deferred.js";
import type { Redactor } from "../../core/redact.js";
import { shownCarry } from "../../core/shown-carry.js";
import { exitStatus } from "../../runtime/command-end.js";
import { type RanOnce, runOnce } from "../../runtime/run-once.js";
import type { RunRequest } from "../../runtime/run-request.js";
import type { Caller } from "../auth/caller.js";
import type { Backing, HandlerFor } from "../call.js";
import { type CapturedField, capture, stdinOf, succeeded } from "../commands/captured.js";
import { EventsOfCommand } from "../commands/command-events.js";
import { timeWithin } from "../commands/key-limits.js";
import { DEFAULT_TIMEOUT_MS, prepare } from "../commands/prepare.js";
import type { OutputRoom } from "../limits/output-budget.js";
import type { RunBody, RunResult } from "../operations/runs.js";

export interface Run {
  readonly body: RunBody;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly backing: Backing;
  /** Where the output lies until the answer is written. */
  readonly room: OutputRoom;
}

/** Where this rejects, the room is free again. */
export const run: HandlerFor<"run"> = async ({ body, caller, signal }, backing) => {
  const room = backing.outputs.open(caller.id);
  const result = await runCaptured({ body, caller, signal, backing, room });
  return { kind: "json", pieces: succeeded(result), release: room.release };
};

/** The result as JSON, in pieces. */
export async function runCaptured({ body, caller, signal, backing, room }: Run): Promise<Iterable<string>> {
  try {
    const startedAt = performance.now();
    const stdin = stdinOf(body);
    const request = await prepare(body.command, body, { caller, own: backing.own });
    const output = capture(request.policy.resources.outputMiB, body.encoding ?? "utf8", room);
    const timeoutMs = timeOf(body, caller, request);
    const ran = await atPlace({ caller, signal, backing }, request, {
      timeoutMs,
      stdin,
      connect: output.connect,
    });
    const rest: Omit<RunResult, CapturedField> = {
      exit_code: exitStatus(ran.command),
      duration_ms: roundedMs(performance.now() - startedAt),
      timed_out: ran.command.timedOut,
      sandbox: ran.sandbox.id,
      ...aboutSandbox(request, ran, backing.redactFor(caller)),
    };
    return output.json(rest);
  } catch (error) {
    room.release();
    throw error;
  }
}

type Streams = Pick<Parameters<typeof runOnce>[1], "timeoutMs" | "stdin" | "connect" | "onNamed" | "onStarted">;

function timeOf({ timeout_ms: asked }: RunBody, caller: Caller, { policy }: RunRequest): number | null {
  return timeWithin(caller, { asked, own: policy.resources.timeoutMs, usual: DEFAULT_TIMEOUT_MS });
}

async function atPlace(
  { caller, signal, backing }: Pick<Run, "caller" | "signal" | "backing">,
  request: RunRequest,
  streams: Streams,
): Promise<RanOnce> {
  const { host, places, runs, settleLater } = backing;
  const answered = deferred<RanOnce>();
  // The place is free when the sandbox has really ended, which the answer need not wait for.
  const held = places.at(caller, signal, async () => {
    const ran = await runOnce(request, {
      host,
      signal,
      settleLater,
      onKilled: (cpuUs) => places.used(caller, cpuUs),
      ...streams,
      onNamed: (id) => {
        runs.note(id, caller.id);
        streams.onNamed?.(id);
      },
    });
    const { cpuUs } = ran.used;
    // Before the caller can ask again; what ending it took is added when that is known.
    places.used(caller, cpuUs ?? 0);
    answered.resolve(ran);
    places.used(caller, Math.max(0, ((await ran.over).cpuUs ?? 0) - (cpuUs ?? 0)));
  });
  held.catch(answered.reject);
  return await answered.promise;
}

type AboutSandbox = Pick<
  RunResult,
  "backend" | "image" | "profile" | "compatibility_mode" | "layers" | "usage" | "network" | "changes" | "notes"
>;

function aboutSandbox({ policy, notes }: RunRequest, ran: RanOnce, redact: Redactor): AboutSandbox {
  const { image, sandbox } = ran;
  return {
    backend: sandbox.backend,
    image: { name: image.name, digest: image.digest, why: redact.value(image.why) },
    profile: policy.profile,
    compatibility_mode: policy.mode,
    layers: sandbox.layers.map(({ name, state, detail = null }) => ({ name, state, detail })),
    usage: usageOf(ran),
    network: { mode: policy.net.egress, blocked: ran.blocked },
    changes: shownCarry(ran.carried),
    notes: [...notes, ...image.notes, ...ran.notes].map((note) => redact.value(note)),
  };
}

function usageOf({ used }: RanOnce): RunResult["usage"] {
  return {
    cpu_us: used.cpuUs,
    memory_peak_bytes: used.memoryPeakBytes,
    oom_kills: used.oomKills,
    processes_denied: used.pidsDenied,
  };
}

export const runStream: HandlerFor<"runStream"> = async ({ body, caller, signal }, backing) => {
  const startedAt = performance.now();
  const stdin = stdinOf(body);
  const request = await prepare(body.command, body, { caller, own: backing.own });
  const timeoutMs = timeOf(body, caller, request);
  return {
    kind: "events",
    write: (response, rename) => {
      const tell = async (events: EventsOfCommand) => {
        const ran = await atPlace({ caller, signal, backing }, request, {
          timeoutMs,
          stdin,
          connect: (exec) => events.connect(exec),
          onNamed: (sandbox) => events.named({ sandbox }),
          onStarted: () => events.started(),
        });
        return {
          code: exitStatus(ran.command),
          duration_ms: roundedMs(performance.now() - startedAt),
          timed_out: ran.command.timedOut,
          sandbox: ran.sandbox.id,
          usage: usageOf(ran),
        };
      };
      return EventsOfCommand.tell(response, body.encoding ?? "utf8", backing.redactFor(caller), tell, rename);
    },
  };
};

export function roundedMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
