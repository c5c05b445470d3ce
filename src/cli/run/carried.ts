/** What a synced project got back from its sandbox, and what it did not, in sentences for the user. */
import type { CarryReport } from "../../core/backend.js";
import { escapeText } from "../../core/escape.js";

const LISTED = 10;

/** Of a command that succeeded, with `--fail-on-conflict`. One that failed keeps its own status. */
const CONFLICTS_LEFT = 1;

export function statusWith(status: number, carried: CarryReport | null, failsOnConflict: boolean): number {
  return status === 0 && failsOnConflict && carried !== null && hasConflicts(carried) ? CONFLICTS_LEFT : status;
}

/** Also of a repository that could not take the sandbox's commits. */
function hasConflicts({ conflicts, repositories }: CarryReport): boolean {
  return conflicts.length > 0 || repositories.length > 0;
}

export function carriedRemarks(report: CarryReport): readonly string[] {
  return [
    ...writtenRemarks(report),
    ...conflictRemarks(report),
    ...listed("not carried over (hidden, protected, or a name with control characters)", report.refused),
    ...heldRemarks(report),
    ...(report.omitted > 0 ? [`${report.omitted} more paths are not listed`] : []),
    ...report.repositories.map((reason) => `git: ${escapeText(reason)}`),
  ];
}

/** What reached the user's own files: how many, once; `--json` and the audit log have all. */
function writtenRemarks({ written, deleted, omitted }: CarryReport): readonly string[] {
  const [more, files] = [omitted > 0 ? "at least " : "", (n: number) => `${n} ${n === 1 ? "path" : "paths"}`];
  const done = [
    ...(written.length > 0 ? [`wrote ${more}${files(written.length)}`] : []),
    ...(deleted.length > 0 ? [`deleted ${more}${files(deleted.length)}`] : []),
  ];
  return done.length === 0 ? [] : [`sync: ${done.join(", ")} in the project`];
}

/** The host's version stays, and the sandbox's is kept. */
function conflictRemarks({ conflicts, heldAs }: CarryReport): readonly string[] {
  const place =
    heldAs === null
      ? ""
      : `; the sandbox's version is kept: agentkernel diff ${heldAs}, take over with agentkernel apply ${heldAs} --force PATH`;
  return listed("not carried over, changed on the host meanwhile", conflicts).map((line) => `${line}${place}`);
}

function heldRemarks({ held, heldAs }: CarryReport): readonly string[] {
  const name =
    heldAs === null
      ? ""
      : `; look with agentkernel diff ${heldAs}, take over with agentkernel apply ${heldAs} --yes-to all`;
  return listed("held for review, since it steers what you run later", held).map((line) => `${line}${name}`);
}

function listed(what: string, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const more = paths.length > LISTED ? ` and ${paths.length - LISTED} more` : "";
  return [`${what}: ${paths.slice(0, LISTED).join(", ")}${more}`];
}
