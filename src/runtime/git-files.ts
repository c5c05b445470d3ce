/** Writes git's configuration inside: who the user is, and which names in a live project are placeholders. */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { type BootSpec, type GitFiles, gitPaths } from "../core/backend.js";
import type { Policy } from "../core/policy.js";
import { borrowedObjects, borrows } from "./borrowed-objects.js";
import { configText, type GitIdentity, gitIdentity } from "./git-identity.js";
import { Looks } from "./looks.js";
import { repositoryAround } from "./repository-around.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** What git has around a project. */
interface Around {
  readonly looks: Looks;
  readonly repository: BootSpec["repository"] | null;
  readonly borrows: boolean;
}

/** By project, for callers whose environment is the same value. */
const known = new WeakMap<Environment, Map<string, Around>>();

function around(env: Environment, projectDir: string): Around {
  const before = known.get(env)?.get(projectDir);
  if (before?.looks.isCurrent()) return before;
  const looks = new Looks();
  const repository = repositoryAround(projectDir, env.HOME ?? null, looks);
  const found = { looks, repository, borrows: borrows(repository?.directory ?? join(projectDir, ".git"), looks) };
  // Only what cannot change any more is what it was.
  if (Object.isFrozen(env)) known.set(env, (known.get(env) ?? new Map()).set(projectDir, found));
  return found;
}

/** For the spec of a sandbox. */
export function gitPartsFor(
  { fs }: Policy,
  env: Environment,
  projectDir: string | null,
): Pick<BootSpec, "git" | "repository" | "borrowed"> {
  if (fs.workspace.mode === "none" || projectDir === null) return {};
  const { repository, borrows } = around(env, projectDir);
  const borrowed = borrows ? borrowedObjects(repository?.directory ?? join(projectDir, ".git")) : [];
  const own = ownFiles(fs, env, projectDir, repository?.part ?? "");
  if (repository === null && borrowed.length === 0) return own;
  return { ...(repository ? { repository } : {}), ...(borrowed.length === 0 ? {} : { borrowed }), ...own };
}

/** `part`: where the project is in the working tree, from whose top git takes patterns. */
function ownFiles(fs: Policy["fs"], env: Environment, projectDir: string, part: string): { readonly git?: GitFiles } {
  const identity = gitIdentity(env, projectDir);
  const isLive = fs.workspace.mode === "mount" && !fs.workspace.readonly;
  if (!isLive) return identity === null ? {} : identityFiles(identity);
  const ignored = heldNames(fs.protect, projectDir);
  if (identity === null && ignored.length === 0) return {};
  const top = part === "" ? "" : `/${part.replace(/[*?[\]\\ ]/g, "\\$&")}`;
  const config = configText(identity ?? { name: null, email: null }, ignored.length > 0);
  return { git: { config, ignored: ignored.map((name) => `${top}${name}\n`).join("") } };
}

const filesOf = new WeakMap<GitIdentity, { readonly git: GitFiles }>();

/** Most callers have the same identity again. */
function identityFiles(identity: GitIdentity): { readonly git: GitFiles } {
  const files = filesOf.get(identity) ?? { git: { config: configText(identity, false), ignored: "" } };
  filesOf.set(identity, files);
  return files;
}

const NOTHING = Object.freeze({});
const FILE = Object.freeze({ GIT_CONFIG_SYSTEM: gitPaths.config });
/** The directory that is shown and the one around it are different mounts. */
const ACROSS = Object.freeze({ GIT_DISCOVERY_ACROSS_FILESYSTEM: "1" });
const FILE_ACROSS = Object.freeze({ ...FILE, ...ACROSS });

/** Variables for commands in a sandbox that has such files: the same value for the same variables. */
export function gitVariables(
  { fs }: Policy,
  env: Environment,
  projectDir: string | null,
): Readonly<Record<string, string>> {
  const { mode, readonly } = fs.workspace;
  if (mode === "none") return {};
  // Without a file there, git reads no less than usual.
  const hasFile = (mode === "mount" && !readonly) || gitIdentity(env, projectDir) !== null;
  const part = projectDir === null ? "" : (around(env, projectDir).repository?.part ?? "");
  return part === "" ? (hasFile ? FILE : NOTHING) : hasFile ? FILE_ACROSS : ACROSS;
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
