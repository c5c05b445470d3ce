/**
 * The repository of a project that does not have it in itself: a worktree, a submodule, or a directory within a
 * repository. Git inside needs it. A project is not believed: its `.git` file could name any directory, so that directory
 * must name the project. Of the repository only what a commit changes is ever written (native/jail/src/git/linked.rs).
 */
import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { LinkedRepository } from "../core/backend.js";

const LONGEST = 4096;
const LONGEST_CONFIG = 1 << 20;

/** `home` and what is around it are no repository of a project's: there the user keeps more than one. */
export function repositoryAround(projectDir: string, home: string | null): LinkedRepository | null {
  try {
    const stat = lstatSync(join(projectDir, ".git"), { throwIfNoEntry: false });
    const found = stat === undefined ? aroundDirectory(projectDir, home) : stat.isFile() ? namedBy(projectDir) : null;
    if (found === null || isWithin(found.directory, projectDir)) return null;
    // Somebody else's is not the user's to show.
    return statSync(found.directory).uid === statSync(projectDir).uid ? found : null;
  } catch (error) {
    if (error instanceof Error && "code" in error) return null;
    throw error;
  }
}

/** Finds the repository around a directory within a repository: the next one above it that has a `.git`. */
function aroundDirectory(projectDir: string, home: string | null): LinkedRepository | null {
  for (let top = dirname(projectDir); top !== dirname(top); top = dirname(top)) {
    if (home !== null && isWithin(home, top)) return null;
    const stat = lstatSync(join(top, ".git"), { throwIfNoEntry: false });
    if (stat === undefined) continue;
    const part = relative(top, projectDir);
    if (stat.isDirectory()) return ofDirectory(join(top, ".git"), part);
    const named = stat.isFile() ? namedBy(top) : null;
    return named === null ? null : { ...named, part, files: [join(top, ".git")] };
  }
  return null;
}

function ofDirectory(directory: string, part: string): LinkedRepository | null {
  if (!isRepository(directory) || workTreeOf(directory) !== null) return null;
  return { directory, own: "", part, files: [] };
}

/** What a working tree's `.git` file names, if that names the working tree. */
function namedBy(top: string): LinkedRepository | null {
  const file = join(top, ".git");
  if (lstatSync(file).size > LONGEST) return null;
  const [, named] = /^gitdir: (.+?)\s*$/.exec(readFileSync(file, "utf8")) ?? [];
  if (named === undefined) return null;
  const own = realpathSync(resolve(top, named));
  const common = commonDirectory(own, file);
  if (common !== null) {
    if (!isRepository(common)) return null;
    return { directory: common, own: relative(common, own), part: "", files: [] };
  }
  const workTree = isRepository(own) ? workTreeOf(own) : null;
  if (workTree === null || realpathSync(resolve(own, workTree)) !== realpathSync(top)) return null;
  return { directory: own, own: "", part: "", files: [] };
}

/** Finds the repository of a worktree: its own directory lies in `worktrees` of the common one and names its `.git`. */
function commonDirectory(own: string, file: string): string | null {
  if (basename(dirname(own)) !== "worktrees") return null;
  if (realpathSync(resolve(own, textOf(join(own, "gitdir")))) !== realpathSync(file)) return null;
  const common = realpathSync(resolve(own, textOf(join(own, "commondir"))));
  return dirname(dirname(own)) === common ? common : null;
}

/** `core.worktree`, as git writes it. */
function workTreeOf(directory: string): string | null {
  const file = join(directory, "config");
  if (lstatSync(file).size > LONGEST_CONFIG) return null;
  const [, value] = /^\s*worktree\s*=\s*"?(.+?)"?\s*$/im.exec(readFileSync(file, "utf8")) ?? [];
  return value ?? null;
}

function isRepository(directory: string): boolean {
  const has = (name: string) => lstatSync(join(directory, name), { throwIfNoEntry: false });
  return (
    has("HEAD")?.isFile() === true && has("objects")?.isDirectory() === true && has("refs")?.isDirectory() === true
  );
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

function textOf(file: string): string {
  return readFileSync(file, "utf8").trim();
}
