/**
 * Whether a path of the host may be shown to a sandbox at all. Inside a shown folder the backend hides and protects
 * by the policy's globs; this looks at the folder itself and what is above it, where those globs cannot reach.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import type { HideRule, Policy } from "../core/policy.js";
import { holdsSecret } from "../guest/hidden-content.js";
import { globCovers, globMatches, globMayConcern, globRemainders, segmentMatches } from "../policy/glob.js";
import type { Phrase, Wording } from "../settings/wording.js";

/** Kernel interfaces and sockets of the host's services: not files, whatever they look like. */
const neverShown = ["/proc", "/sys", "/dev", "/run"];

interface ShownPath {
  /** How the user named it, for the message. */
  readonly what: string;
  /** Absolute and free of links. */
  readonly path: string;
  readonly writable: boolean;
  /** What else the user could do where a protected path is asked for writable. */
  readonly readonlyHint: Phrase;
}

export function refuseUnlessShowable(shown: ShownPath, { fs }: Policy): void {
  const { what, path, writable } = shown;
  if (path === "/") {
    throw denied(`${what} is /: the whole machine is never shown to a sandbox`, "name the folder that is needed");
  }
  const tree = neverShown.find((root) => path === root || path.startsWith(`${root}/`));
  if (tree !== undefined)
    throw denied(`${what} is in ${tree}, which is never shown to a sandbox`, "copy what is needed");
  const stats = statSync(path);
  if (!stats.isFile() && !stats.isDirectory()) {
    throw denied(`${what} (${path}) is neither a file nor a folder`, "sockets, pipes and devices are never shown");
  }
  const segments = path.split("/").slice(1);
  for (const rule of concerning(fs.deny, (candidate) => candidate.glob, segments))
    refuseHidden(what, path, segments, rule);
  if (!writable) return;
  for (const glob of concerning(fs.protect, (candidate) => candidate, segments)) {
    if (globCovers(glob, segments) || globRemainders(glob, segments).length > 0) {
      throw denied(`${what} (${path}) is protected: sandboxes never change ${glob}`, shown.readonlyHint);
    }
  }
}

interface Concerning {
  readonly path: string;
  readonly rules: readonly unknown[];
}

/** Which rules of a list speak of the path that was asked for last. */
const concerningLast = new WeakMap<readonly unknown[], Concerning>();

/** A glob without `**` in front speaks of the top of a shown folder, and so never of the folder itself. */
function concerning<T>(rules: readonly T[], globOf: (rule: T) => string, segments: readonly string[]): readonly T[] {
  const path = segments.join("/");
  const known = concerningLast.get(rules);
  if (known?.path === path) return known.rules as readonly T[];
  const found = rules.filter((rule) => globOf(rule).startsWith("**/") && globMayConcern(globOf(rule), segments));
  // Only what cannot change any more is what it was.
  if (Object.isFrozen(rules)) concerningLast.set(rules, { path, rules: found });
  return found;
}

function refuseHidden(what: string, path: string, segments: readonly string[], rule: HideRule): void {
  const { glob, holds, reason = "fs.deny" } = rule;
  const isHidden =
    holds === undefined ? globCovers(glob, segments) : globMatches(glob, segments) && holdsSecret(path, rule);
  if (isHidden) {
    const message = `${what} (${path}) holds secrets and is hidden from sandboxes by the rule ${glob} (${reason})`;
    throw denied(message, secretHint);
  }
  for (const remainder of globRemainders(glob, segments)) {
    const below = findBelow(path, remainder.split("/"));
    const found = below.find((file) => holds === undefined || holdsSecret(file, rule));
    if (found !== undefined) {
      throw denied(`${what} has ${found} in it, which is hidden from sandboxes by the rule ${glob}`, subfolderHint);
    }
  }
}

const secretHint = ({ name }: Wording) =>
  `pass single values with ${name("proc.env")} instead, or copy what is no secret to another folder`;
const subfolderHint = "name a folder inside it that holds no secrets";

/** Paths below `folder` that fit the pattern. `**` is not walked: it stands for "there may be". */
function findBelow(folder: string, pattern: readonly string[]): readonly string[] {
  const [first, ...rest] = pattern;
  if (first === undefined) return [folder];
  if (first === "**") return [folder];
  const names = namesIn(folder, first).filter((name) => segmentMatches(first, name));
  return names
    .map((name) => join(folder, name))
    .filter(existsSync)
    .flatMap((path) => findBelow(path, rest));
}

/** Where the folder cannot be listed, what a literal segment names may still be there. */
function namesIn(folder: string, segment: string): readonly string[] {
  if (!statSync(folder).isDirectory()) return [];
  try {
    return readdirSync(folder);
  } catch (error) {
    if (/[*?]/.test(segment)) throw error;
    return [segment];
  }
}

function denied(message: string, hint: Phrase): AgentKernelError {
  return new AgentKernelError("policy_denied", message, { hint });
}
