/**
 * The repository of a project that does not have it in itself: a worktree, a submodule, or a directory within a
 * repository. Git inside needs it. A project is not believed: its `.git` file could name any directory, so that directory
 * must name the project. Of the repository only what a commit changes is ever written (native/jail/src/git/linked.rs).
 */
import { basename, dirname, join, relative, resolve } from "node:path";
import type { LinkedRepository } from "../core/backend.js";
import { Looks } from "./looks.js";

const LONGEST = 4096;
const LONGEST_CONFIG = 1 << 20;

/** `home` and what is around it are no repository of a project's: there the user keeps more than one. */
export function repositoryAround(
  projectDir: string,
  home: string | null,
  looks = new Looks(),
): LinkedRepository | null {
  const git = looks.stats(join(projectDir, ".git"), "seen");
  const found =
    git === null ? aroundDirectory(projectDir, home, looks) : git.isFile() ? namedBy(projectDir, looks) : null;
  if (found === null || isWithin(found.directory, projectDir)) return null;
  // Somebody else's is not the user's to show. Only root could give a directory another owner.
  const owner = looks.stats(found.directory, "seen")?.uid;
  return owner !== undefined && owner === looks.stats(projectDir, "seen")?.uid ? found : null;
}

/** Finds the repository around a directory within a repository: the next one above it that has a `.git`. */
function aroundDirectory(projectDir: string, home: string | null, looks: Looks): LinkedRepository | null {
  for (let top = dirname(projectDir); top !== dirname(top); top = dirname(top)) {
    if (home !== null && isWithin(home, top)) return null;
    const stat = looks.stats(join(top, ".git"), "seen");
    if (stat === null) continue;
    const part = relative(top, projectDir);
    if (stat.isDirectory()) return ofDirectory(join(top, ".git"), part, looks);
    const named = stat.isFile() ? namedBy(top, looks) : null;
    return named === null ? null : { ...named, part, files: [join(top, ".git")] };
  }
  return null;
}

function ofDirectory(directory: string, part: string, looks: Looks): LinkedRepository | null {
  if (!isRepository(directory, looks) || workTreeOf(directory, looks) !== "") return null;
  return { directory, own: "", part, files: [] };
}

/** What a working tree's `.git` file names, if that names the working tree. */
function namedBy(top: string, looks: Looks): LinkedRepository | null {
  const file = join(top, ".git");
  const [, named] = /^gitdir: (.+?)\s*$/.exec(textOf(file, LONGEST, looks) ?? "") ?? [];
  const own = named === undefined ? null : looks.real(resolve(top, named));
  if (own === null) return null;
  const common = commonDirectory(own, file, looks);
  if (common !== null) {
    if (!isRepository(common, looks)) return null;
    return { directory: common, own: relative(common, own), part: "", files: [] };
  }
  const workTree = isRepository(own, looks) ? workTreeOf(own, looks) : null;
  if (workTree === null || workTree === "") return null;
  const shown = looks.real(resolve(own, workTree));
  if (shown === null || shown !== looks.real(top)) return null;
  return { directory: own, own: "", part: "", files: [] };
}

/** Finds the repository of a worktree: its own directory lies in `worktrees` of the common one and names its `.git`. */
function commonDirectory(own: string, file: string, looks: Looks): string | null {
  if (basename(dirname(own)) !== "worktrees") return null;
  const [back, named] = ["gitdir", "commondir"].map((name) => textOf(join(own, name), LONGEST, looks)?.trim());
  if (!back || !named) return null;
  const backTo = looks.real(resolve(own, back));
  if (backTo === null || backTo !== looks.real(file)) return null;
  const common = looks.real(resolve(own, named));
  return dirname(dirname(own)) === common ? common : null;
}

/** `core.worktree`, as git writes it: "" where there is none, null where that cannot be told. */
function workTreeOf(directory: string, looks: Looks): string | null {
  const text = textOf(join(directory, "config"), LONGEST_CONFIG, looks);
  if (text === null) return null;
  const [, value = ""] = /^\s*worktree\s*=\s*"?(.+?)"?\s*$/im.exec(text) ?? [];
  return value;
}

function isRepository(directory: string, looks: Looks): boolean {
  const has = (name: string) => looks.stats(join(directory, name), "seen");
  return (
    has("HEAD")?.isFile() === true && has("objects")?.isDirectory() === true && has("refs")?.isDirectory() === true
  );
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

/** Null: it is no regular file, or a longer one. */
function textOf(file: string, longest: number, looks: Looks): string | null {
  const stat = looks.stats(file, "seen");
  return stat?.isFile() === true && stat.size <= longest ? looks.text(file, longest) : null;
}
