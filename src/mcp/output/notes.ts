/** What a model should know of a run that its output does not tell: limits that were hit, and what was refused. */
import type { CarryReport, Layer, SandboxEnd } from "../../core/backend.js";
import { escapeText } from "../../core/escape.js";
import type { Policy } from "../../core/policy.js";
import { hiddenIn } from "../../runtime/missed-paths.js";
import type { Blocked } from "../../runtime/sandbox-egress.js";

const LISTED = 10;

export function endNotes(
  { resources }: Policy,
  { oomKills, pidsDenied, carried }: Pick<SandboxEnd, "oomKills" | "pidsDenied" | "carried">,
  blocked: readonly Blocked[],
): readonly string[] {
  return [
    ...(oomKills > 0 ? [`the memory limit of ${resources.memoryMiB} MiB was reached and a process killed`] : []),
    ...(pidsDenied > 0 ? [`the limit of ${resources.pids} processes was reached`] : []),
    ...blockedNotes(blocked),
    ...(carried === null ? [] : carriedNotes(carried)),
  ];
}

/** What of the project a model looks for in vain. */
export function hiddenNotes(layers: readonly Layer[]): readonly string[] {
  const hidden = hiddenIn(layers);
  if (hidden === null) return [];
  const paths = hidden.files.map(({ path }) => path);
  const omitted = hidden.count - paths.length;
  const more = omitted > 0 ? [`and ${omitted} more files are hidden`] : [];
  return [...listed("hidden from the sandbox, since they hold secrets", paths), ...more];
}

function blockedNotes(blocked: readonly Blocked[]): readonly string[] {
  const shown = blocked.slice(0, LISTED).map(({ host, port, rule }) => {
    const where = port === null ? host : `${host}:${port}`;
    return `the network policy refused ${escapeText(where)}: ${escapeText(rule)}`;
  });
  return blocked.length > LISTED ? [...shown, `and ${blocked.length - LISTED} more destinations`] : shown;
}

/** What reached the user's own files, and what did not. */
export function carriedNotes(report: CarryReport): readonly string[] {
  return [
    ...listed("written to the project on the host", report.written),
    ...listed("deleted from the project on the host", report.deleted),
    ...listed(
      `not carried over, changed on the host meanwhile${report.heldAs === null ? "" : ` (kept for the user as ${report.heldAs})`}`,
      report.conflicts,
    ),
    ...listed("not carried over (hidden, protected, or a name with control characters)", report.refused),
    ...listed("not carried over, waits for the user's review", report.held),
    ...(report.omitted > 0 ? [`${report.omitted} more paths are not listed`] : []),
    ...report.repositories.map((reason) => `git: ${escapeText(reason)}`),
  ];
}

function listed(what: string, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const more = paths.length > LISTED ? ` and ${paths.length - LISTED} more` : "";
  return [`${what}: ${paths.slice(0, LISTED).map(escapeText).join(", ")}${more}`];
}
