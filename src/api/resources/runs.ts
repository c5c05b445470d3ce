/** Commands in temporary sandboxes: at once, as events, and several side by side. */
import { isAgentKernelError } from "../../core/errors.js";
import { exitStatus } from "../../runtime/command-end.js";
import { type RanOnce, runOnce } from "../../runtime/run-once.js";
import type { RunRequest } from "../../runtime/run-request.js";
import type { Backing, HandlerFor } from "../asked.js";
import type { Caller } from "../auth/caller.js";
import { capture, stdinOf } from "../commands/captured.js";
import { EventsOfCommand } from "../commands/command-events.js";
import { DEFAULT_TIMEOUT_MS, prepare } from "../commands/prepare.js";
import { errorAnswer, inFields } from "../http/error-answer.js";
import { data } from "../http/reply.js";
import type { RunBody, RunResult } from "../operations/runs.js";

interface Run {
  readonly body: RunBody;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly backing: Backing;
}

export const run: HandlerFor<"run"> = async ({ body, caller, signal }, backing) =>
  data(await runCaptured({ body, caller, signal, backing }));

async function runCaptured({ body, caller, signal, backing }: Run): Promise<RunResult> {
  const startedAt = performance.now();
  const stdin = stdinOf(body);
  const request = await prepare(body.command, body, caller, backing.own);
  const output = capture(request.policy.resources.outputMiB, body.encoding ?? "utf8");
  const ran = await atPlace({ caller, signal, backing }, request, {
    stdin,
    connect: output.connect,
  });
  const { output: all, stdout, stderr, encoding, dropped_bytes } = output.fields();
  return {
    output: all,
    stdout,
    stderr,
    exit_code: exitStatus(ran.command),
    duration_ms: roundedMs(performance.now() - startedAt),
    timed_out: ran.command.timedOut,
    sandbox: ran.sandbox.id,
    encoding,
    dropped_bytes,
    ...aboutSandbox(request, ran),
  };
}

type Streams = Pick<Parameters<typeof runOnce>[1], "stdin" | "connect" | "onNamed" | "onStarted">;

async function atPlace(
  { caller, signal, backing }: Omit<Run, "body">,
  request: RunRequest,
  streams: Streams,
): Promise<RanOnce> {
  const { host, places, runs, settleLater } = backing;
  const timeoutMs = request.policy.resources.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const ran = await places.at(caller, signal, () =>
    runOnce(request, {
      host,
      signal,
      timeoutMs,
      settleLater,
      ...streams,
      onNamed: (id) => {
        runs.note(id, caller.id);
        streams.onNamed?.(id);
      },
    }),
  );
  places.used(caller, ran.end.cpuUs ?? 0);
  return ran;
}

type AboutSandbox = Pick<
  RunResult,
  "backend" | "image" | "profile" | "compatibility_mode" | "layers" | "usage" | "network" | "changes" | "notes"
>;

function aboutSandbox({ policy, notes }: RunRequest, ran: RanOnce): AboutSandbox {
  const { image, end, sandbox } = ran;
  return {
    backend: "linux",
    image: { name: image.name, digest: image.digest, why: inFields(image.why) },
    profile: policy.profile,
    compatibility_mode: policy.mode,
    layers: sandbox.layers.map(({ name, state, detail = null }) => ({ name, state, detail })),
    usage: usageOf(ran),
    network: { mode: policy.net.egress, blocked: ran.blocked },
    changes: end.carried,
    notes: [...notes, ...image.notes, ...ran.notes].map(inFields),
  };
}

function usageOf({ end }: RanOnce): RunResult["usage"] {
  return {
    cpu_us: end.cpuUs,
    memory_peak_bytes: end.memoryPeakBytes,
    oom_kills: end.oomKills,
    processes_denied: end.pidsDenied,
  };
}

export const runStream: HandlerFor<"runStream"> = async ({ body, caller, signal }, backing) => {
  const startedAt = performance.now();
  const stdin = stdinOf(body);
  const request = await prepare(body.command, body, caller, backing.own);
  return {
    kind: "events",
    write: (response) =>
      EventsOfCommand.tell(response, body.encoding ?? "utf8", backing.redact, async (events) => {
        const ran = await atPlace({ caller, signal, backing }, request, {
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
      }),
  };
};

export const batchRun: HandlerFor<"batchRun"> = async ({ body, caller, signal }, backing) => {
  const { commands, parallel = commands.length } = body;
  const results: unknown[] = new Array(commands.length);
  let next = 0;
  const work = async () => {
    for (let index = next++; index < commands.length; index = next++) {
      const one = commands[index];
      if (one !== undefined) results[index] = await resultOf({ body: one, caller, signal, backing });
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return data({ results });
};

/** One that fails is a result of the batch; the others go on. */
async function resultOf(one: Run): Promise<object> {
  try {
    return { success: true, data: await runCaptured(one) };
  } catch (error) {
    if (!isAgentKernelError(error) || one.signal.aborted) throw error;
    return { success: false, error: errorAnswer(error, one.backing.redact).error };
  }
}

export function roundedMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
