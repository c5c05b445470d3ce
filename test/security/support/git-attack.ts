/**
 * Ways to make git of the host run something, as shell commands in a project: each leads git to a configuration that
 * leaves a mark. The project has everything that git knows: a submodule, a worktree, a bare repository.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Actor } from "../../support/actors.js";
import { runOutside } from "./fs-attack.js";

export interface GitAttack {
  readonly name: string;
  readonly script: string;
  /** Where git is started afterwards. */
  readonly startedIn: string;
  /** A live mount holds no names in subfolders of its own choice. */
  readonly isBeyondMount?: true;
}

const prelude = (mark: string): string => `
configuration() { printf '[core]\\n\\tworktree = %s\\n\\tfsmonitor = "touch ${mark}; false"\\n[alias]\\n\\tmark = "!touch ${mark}"\\n' "$1"; }
repository() { mkdir -p "$1/objects" "$1/refs"; echo 'ref: refs/heads/main' > "$1/HEAD"; configuration . > "$1/config"; }
echo changed > code.txt
`;

export const gitAttacks: readonly GitAttack[] = [
  { name: "the project as a repository, HEAD deleted", script: "rm -f .git/HEAD; repository .", startedIn: "." },
  { name: "the project as a repository, HEAD spoiled", script: "echo x > .git/HEAD; repository .", startedIn: "." },
  {
    name: "the project as a repository, objects moved",
    script: "mv .git/objects .git/gone; repository .",
    startedIn: ".",
  },
  {
    name: "the project as a repository, refs made a link",
    script: "rm -r .git/refs; ln -s /nowhere .git/refs; repository .",
    startedIn: ".",
  },
  { name: "a subfolder as a repository", script: "repository src", startedIn: "src", isBeyondMount: true },
  {
    name: "a subfolder that has the other parts already",
    script: "echo 'ref: refs/heads/main' > parts/HEAD; configuration . > parts/config",
    startedIn: "parts",
    isBeyondMount: true,
  },
  {
    name: "a subfolder that says where the repository is",
    script: "repository evil; rm evil/HEAD; echo 'ref: refs/heads/main' > src/HEAD; echo ../evil > src/commondir",
    startedIn: "src",
    isBeyondMount: true,
  },
  {
    name: "a nested repository taken apart",
    script: "rm -f nested/.git/HEAD; repository nested",
    startedIn: "nested",
  },
  {
    name: "a submodule's common folder",
    script: "repository evil; echo ../../../evil > .git/modules/lib/commondir",
    startedIn: "lib",
  },
  {
    name: "a submodule's configuration of the worktree",
    script: "configuration ../../../lib > .git/modules/lib/config.worktree",
    startedIn: "lib",
  },
  {
    name: "a worktree's common folder",
    script: "repository evil; echo ../../../evil > .git/worktrees/tree/commondir",
    startedIn: "tree",
  },
  {
    name: "a worktree's own configuration",
    script: "configuration ../../../tree > .git/worktrees/tree/config.worktree",
    startedIn: "tree",
  },
  { name: "the configuration of a bare repository", script: "configuration . > bare/config", startedIn: "bare" },
  {
    name: "a common folder of a bare repository",
    script: "repository evil; echo ../evil > bare/commondir",
    startedIn: "bare",
  },
];

export function scriptOf({ script }: GitAttack, mark: string): string {
  return `${prelude(mark)}${script}; true`;
}

const setUp = `
set -e
git init -q -b main .
git config user.name Somebody; git config user.email somebody@example.com; git config extensions.worktreeConfig true
echo code > code.txt; mkdir -p src parts/objects parts/refs; echo x > src/x; echo x > parts/objects/x; echo x > parts/refs/x
git add code.txt src; git commit -q -m first
git worktree add -q -b tree tree
mkdir lib .git/modules; git init -q -b main --separate-git-dir .git/modules/lib lib
git -C lib config extensions.worktreeConfig true
git init -q -b main nested
git init -q -b main --bare bare
`;

export async function makeRepository(actor: Actor): Promise<string> {
  const folder = actor.folder();
  const made = await runOutside(actor, ["sh", "-c", setUp], folder);
  if (made.status !== 0) throw new Error(`no repository could be made: ${made.stderr}`);
  return folder;
}

/** What git of the host does in a folder; whether that left the mark. */
export async function isMarkedByGit(
  actor: Actor,
  folder: string,
  mark: string,
  options: readonly string[] = [],
): Promise<boolean> {
  for (const verb of ["status", "mark"]) await runOutside(actor, ["git", ...options, verb], folder);
  return existsSync(mark);
}

export const markOf = (actor: Actor): string => join(actor.folder("mark"), "mark");
