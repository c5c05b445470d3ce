/**
 * The repository of a project that is a worktree: its `.git` is a file that names a directory, which git inside needs. A
 * project is not believed: it could name any directory, so that directory must name the project, and no project writes
 * there.
 */
import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

const LONGEST = 4096;

/** Absolute and free of links; null where there is none, or it does not know of this project. */
export function repositoryAround(projectDir: string): string | null {
  try {
    const file = join(projectDir, ".git");
    const stat = lstatSync(file, { throwIfNoEntry: false });
    if (stat === undefined || !stat.isFile() || stat.size > LONGEST) return null;
    const [, named] = /^gitdir: (.+?)\s*$/.exec(readFileSync(file, "utf8")) ?? [];
    if (named === undefined) return null;
    const own = realpathSync(resolve(projectDir, named));
    const common = commonDirectory(own, file);
    if (common === null || common.startsWith(`${projectDir}/`) || !isRepository(common)) return null;
    // Somebody else's is not the user's to show.
    return statSync(common).uid === stat.uid ? common : null;
  } catch (error) {
    if (error instanceof Error && "code" in error) return null;
    throw error;
  }
}

/** Finds the repository of a worktree: its own directory lies in `worktrees` of the common one and names its `.git`. */
function commonDirectory(own: string, file: string): string | null {
  if (basename(dirname(own)) !== "worktrees") return null;
  if (realpathSync(textOf(join(own, "gitdir"))) !== realpathSync(file)) return null;
  const common = realpathSync(resolve(own, textOf(join(own, "commondir"))));
  return dirname(dirname(own)) === common ? common : null;
}

function isRepository(directory: string): boolean {
  const has = (name: string) => lstatSync(join(directory, name), { throwIfNoEntry: false });
  return (
    has("HEAD")?.isFile() === true && has("objects")?.isDirectory() === true && has("refs")?.isDirectory() === true
  );
}

function textOf(file: string): string {
  return readFileSync(file, "utf8").trim();
}
