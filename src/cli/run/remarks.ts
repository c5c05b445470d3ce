/** What the user should know about a run that its output does not tell. */
import type { CarryReport, Layer, SandboxEnd } from "../../core/backend.js";
import type { CommandEnd } from "../../runtime/command-end.js";
import type { RunRequest } from "../run-request.js";

const LISTED = 10;

export function remarks(
  request: RunRequest,
  command: CommandEnd,
  end: SandboxEnd,
  layers: readonly Layer[],
): readonly string[] {
  const { resources } = request.policy;
  const failed = command.exit.code !== 0;
  return [
    ...layers
      .filter((layer) => layer.state !== "applied")
      .map((layer) => `${layer.name}: ${layer.detail ?? layer.state}`),
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
  ];
}

function listed(what: string, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const more = paths.length > LISTED ? ` and ${paths.length - LISTED} more` : "";
  return [`${what}: ${paths.slice(0, LISTED).join(", ")}${more}`];
}
