/** What the user should know about a run that its output does not tell. */
import { scratchMiB } from "../../backends/linux/jail-spec.js";
import type { CarryReport, Layer, SandboxEnd } from "../../core/backend.js";
import type { CommandEnd } from "../../runtime/command-end.js";
import type { RunRequest } from "../run-request.js";

const LISTED = 10;

/** Before the command runs: what protects less than it should, or is less than was asked for. */
export function remarksAtStart(request: RunRequest, layers: readonly Layer[]): readonly string[] {
  const { diskMiB } = request.policy.resources;
  const scratch = scratchMiB(request.policy.resources);
  const wasAsked = request.origins["resources.diskMiB"] !== "default";
  return [
    ...layers
      .filter((layer) => layer.state !== "applied")
      .map((layer) => `${layer.name}: ${layer.detail ?? layer.state}`),
    ...(wasAsked && scratch < diskMiB
      ? [`disk is ${scratch} MiB, not ${diskMiB}: a temporary sandbox writes to memory; raise --memory for more`]
      : []),
  ];
}

/** After it: what the limits and the host's own changes did. */
export function remarksAtEnd(request: RunRequest, command: CommandEnd, end: SandboxEnd): readonly string[] {
  const { resources } = request.policy;
  const failed = command.exit.code !== 0;
  return [
    ...(command.timedOut ? [`timed out after ${resources.timeoutMs} ms; everything in the sandbox was ended`] : []),
    ...(end.oomKills > 0
      ? [`the memory limit of ${resources.memoryMiB} MiB was reached and a process killed; raise it with --memory`]
      : []),
    ...(failed && end.pidsDenied > 0
      ? [`the limit of ${resources.pids} processes was reached; raise it with --pids`]
      : []),
    ...(end.carried ? carriedRemarks(end.carried) : []),
  ];
}

function carriedRemarks(report: CarryReport): readonly string[] {
  return [
    ...listed("not carried over, changed on the host meanwhile", report.conflicts),
    ...listed("not carried over, hidden or protected", report.refused),
    ...(report.omitted > 0 ? [`${report.omitted} more paths are not listed`] : []),
  ];
}

function listed(what: string, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const more = paths.length > LISTED ? ` and ${paths.length - LISTED} more` : "";
  return [`${what}: ${paths.slice(0, LISTED).join(", ")}${more}`];
}
