/** The output of `run --json`. */
import type { SandboxEnd } from "../../core/backend.js";
import { shownCarry } from "../../core/shown-carry.js";
import { type CommandEnd, exitStatus } from "../../runtime/command-end.js";
import type { ResolvedRoot } from "../../runtime/root-image.js";
import type { RunRequest } from "../../runtime/run-request.js";
import type { RunSandbox } from "../../runtime/run-sandbox.js";
import type { Blocked } from "../../runtime/sandbox-egress.js";
import { missingRemark } from "./remarks.js";
import type { RunStreams } from "./streams.js";

/** How a command and its sandbox ended. */
export interface Ran {
  readonly command: CommandEnd;
  readonly sandboxEnd: SandboxEnd;
  readonly streams: RunStreams;
  /** About files that were said not to be there. */
  readonly missed: readonly string[];
}

interface AnswerParts {
  readonly request: RunRequest;
  readonly image: ResolvedRoot;
  readonly backendWhy: string;
  readonly sandbox: Pick<RunSandbox, "id" | "backend" | "layers">;
  readonly ran: Ran;
  readonly blocked: readonly Blocked[];
  readonly ms: number;
}

export function answer({ request, image, backendWhy, sandbox, ran, blocked, ms }: AnswerParts): object {
  const { command, sandboxEnd, streams } = ran;
  const { captured } = streams;
  const missing = missingRemark(image, command);
  return {
    output: captured?.text() ?? "",
    stdout: captured?.text(1) ?? "",
    stderr: captured?.text(2) ?? "",
    dropped_bytes: captured?.droppedBytes ?? 0,
    exit_code: exitStatus(command),
    duration_ms: Math.round(ms * 1000) / 1000,
    timed_out: command.timedOut,
    sandbox: sandbox.id,
    backend: sandbox.backend,
    backend_why: backendWhy,
    image: { name: image.name, digest: image.digest, why: image.why },
    profile: request.policy.profile,
    layers: sandbox.layers,
    usage: {
      cpu_us: sandboxEnd.cpuUs,
      memory_peak_bytes: sandboxEnd.memoryPeakBytes,
      oom_kills: sandboxEnd.oomKills,
      processes_denied: sandboxEnd.pidsDenied,
    },
    network: { mode: request.policy.net.egress, blocked },
    changes: shownCarry(sandboxEnd.carried),
    notes: [...request.notes, ...image.notes, ...(missing === null ? [] : [missing]), ...ran.missed],
  };
}
