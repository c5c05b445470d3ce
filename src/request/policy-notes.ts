/** What the user should know about how a policy came to be: what a limit held back, and what a project took. */
import type { Narrowing } from "../policy/merge.js";
import type { ResolvedPolicy } from "../policy/resolve.js";
import { projectFileName } from "./configuration.js";
import { refusalText } from "./trust/requests.js";

export function policyNotes(resolved: ResolvedPolicy): readonly string[] {
  return [...heldBack(resolved.narrowed), ...refusedToProject(resolved), ...takenByProject(resolved)];
}

/** One line, whatever the project asked for. */
function refusedToProject({ refused }: ResolvedPolicy): readonly string[] {
  if (refused.length === 0) return [];
  const what = refused.map(refusalText).join("; ");
  return [`this project asks for more than you allow, and did not get it: ${what}. To allow it: agentkernel trust`];
}

/** Defaults that a limit narrows are no news to whoever wrote the limit; what was asked for outright is. */
function heldBack(narrowed: readonly Narrowing[]): readonly string[] {
  return narrowed
    .filter(({ askedBy, field }) => askedBy !== "default" && field !== "net.deny")
    .map(({ field, askedBy, asked, heldBy, held }) =>
      Array.isArray(asked)
        ? `${askedBy}: ${field} has ${asked.length - listLength(held)} entries beyond ${heldBy}; they do not count`
        : `${askedBy}: ${field} ${String(asked)} is beyond ${heldBy}; ${String(held)} holds`,
    );
}

function listLength(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

/** A file that came with a project, and that nobody named, lets commands reach the user's own files. */
function takenByProject({ policy, origins }: ResolvedPolicy): readonly string[] {
  const isProjects = (origin: string) => origin.startsWith(`${projectFileName}:`);
  const originOf = (field: "fs.workspace.mode" | "fs.home") =>
    origins[field] === `profile ${policy.profile}` ? origins.profile : origins[field];
  const notes: string[] = [];
  if (policy.fs.workspace.mode === "mount" && isProjects(originOf("fs.workspace.mode"))) {
    notes.push(`${originOf("fs.workspace.mode")} lets the sandbox change this folder itself, live`);
  }
  if (policy.fs.home === "readonly" && isProjects(originOf("fs.home"))) {
    notes.push(`${originOf("fs.home")} lets the sandbox read your home folder`);
  }
  return notes;
}
