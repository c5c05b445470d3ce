/** Writes git's configuration inside: who the user is, and which names in a live project are placeholders. */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { GitFiles } from "../core/backend.js";
import type { Policy } from "../core/policy.js";
import { configText, gitIdentity } from "./git-identity.js";
import { repositoryAround } from "./repository-around.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** For the spec of a sandbox. */
export function gitPartsFor(
  { fs }: Policy,
  env: Environment,
  projectDir: string | null,
): { readonly git?: GitFiles; readonly repository?: string } {
  if (fs.workspace.mode === "none" || projectDir === null) return {};
  const repository = repositoryAround(projectDir);
  return { ...(repository === null ? {} : { repository }), ...ownFiles(fs, env, projectDir) };
}

function ownFiles(fs: Policy["fs"], env: Environment, projectDir: string): { readonly git?: GitFiles } {
  const identity = gitIdentity(env, projectDir);
  const isLive = fs.workspace.mode === "mount" && !fs.workspace.readonly;
  const ignored = isLive ? heldNames(fs.protect, projectDir) : [];
  if (identity === null && ignored.length === 0) return {};
  const config = configText(identity ?? { name: null, email: null }, ignored.length > 0);
  return { git: { config, ignored: ignored.map((name) => `${name}\n`).join("") } };
}

/** Whether a command in such a sandbox may find files like these; where it does not, git reads no less than usual. */
export function mayHaveGitFiles({ fs }: Policy, env: Environment): boolean {
  const { mode, readonly } = fs.workspace;
  return mode !== "none" && ((mode === "mount" && !readonly) || gitIdentity(env, null) !== null);
}

/**
 * Protected names that are not there yet are taken by empty files while the project is live (native/jail's placeholders).
 * As patterns of git's, from the top of the project.
 */
function heldNames(protect: readonly string[], projectDir: string): readonly string[] {
  const names = protect.map((glob) => glob.replace(/^\*\*\//, "")).filter((name) => !/[*?[\]{}\\]|^\.git\//.test(name));
  // The first of these that is missing is held as well, so that the project itself becomes no repository.
  const part = ["refs", "objects", "HEAD"].find((name) => firstMissing(name, projectDir) !== null) ?? [];
  const held = names
    .concat(part)
    .map((name) => firstMissing(name, projectDir))
    .filter((name) => name !== null);
  return [...new Set(held)].sort().map((name) => `/${name}`);
}

function firstMissing(name: string, projectDir: string): string | null {
  const parts = name.split("/");
  for (let end = 1; end <= parts.length; end += 1) {
    const path = parts.slice(0, end).join("/");
    const stat = lstatSync(join(projectDir, path), { throwIfNoEntry: false });
    // Another sandbox on the project may hold it already.
    if (stat === undefined || (stat.isFile() && (stat.size === 0 || path === "commondir"))) return path;
  }
  return null;
}
