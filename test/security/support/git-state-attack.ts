/**
 * What git keeps of an operation that is not finished, and what it checks out, written by hand: an ordinary command of
 * the user's (`git rebase --continue`, `git checkout .`) then runs or writes what the sandbox chose. The images of some
 * backends have no git.
 */
import type { Actor } from "../../support/actors.js";
import { runOutside } from "./fs-attack.js";

export interface GitStateAttack {
  readonly name: string;
  /** A shell script in the project; `$mark` is the file that must not come into being. */
  readonly script: string;
  /** What the user does then, as a shell script in the project. */
  readonly host: string;
}

const prelude = (mark: string): string => `
mark='${mark}'
echo changed > code.txt
started() {
  mkdir -p "$1/rebase-merge"; echo refs/heads/$2 > "$1/rebase-merge/head-name"
  cat "$3/refs/heads/$2" > "$1/rebase-merge/onto"; cat "$3/refs/heads/$2" > "$1/rebase-merge/orig-head"
  : > "$1/rebase-merge/interactive"; : > "$1/rebase-merge/done"; echo 0 > "$1/rebase-merge/msgnum"
  echo 1 > "$1/rebase-merge/end"; printf "$4" > "$1/rebase-merge/git-rebase-todo"
}
repository() { mkdir -p "$1/.git/objects" "$1/.git/refs/heads"; echo 'ref: refs/heads/main' > "$1/.git/HEAD"; }
commits() { cp -r .git/objects "$1/.git/"; cat .git/refs/heads/main > "$1/.git/refs/heads/main"; }
program() { mkdir git-merge-x; printf '#!/bin/sh\\ntouch "%s"\\n' "$mark" > git-merge-x/run; chmod +x git-merge-x/run; }
`;

/** An index with one entry, a program at a path that git never checks out. */
const forgedIndex = (directory: string, path: string): string => `
${directory === ".git/worktrees/tree" ? "OBJECTS=.git " : ""}python3 - '${directory}' "$mark" <<'END'
import hashlib, os, sys, zlib
git, mark, path = sys.argv[1], sys.argv[2], b"${path}"
text = f"#!/bin/sh\\ntouch '{mark}'\\n".encode()
whole = b"blob " + str(len(text)).encode() + b"\\0" + text
name = hashlib.sha1(whole).hexdigest()
objects = f"{os.environ.get('OBJECTS', git)}/objects/{name[:2]}"
os.makedirs(objects, exist_ok=True)
open(f"{objects}/{name[2:]}", "wb").write(zlib.compress(whole))
entry = bytes(24) + (0o100755).to_bytes(4, "big") + bytes(12) + bytes.fromhex(name) + len(path).to_bytes(2, "big") + path
entry += bytes(8 - len(entry) % 8)
body = b"DIRC" + (2).to_bytes(4, "big") + (1).to_bytes(4, "big") + entry
if os.path.exists(f"{git}/index"):
    os.unlink(f"{git}/index")
open(f"{git}/index", "wb").write(body + hashlib.sha1(body).digest())
END
`;

const goOn = "git checkout -q .; git rebase --continue";
const steps = [
  ["exec", "exec touch $mark\\n"],
  ["its abbreviation", "x touch $mark\\n"],
  ["indented, after others", "# comment\\n\\nnoop\\n \\t x touch $mark\\n"],
  ["with a carriage return", "exec touch $mark\\r\\n"],
] as const;

export const gitStateAttacks: readonly GitStateAttack[] = [
  ...steps.map(([name, list]) => ({
    name: `a step of a rebase: ${name}`,
    script: `started .git main .git "${list}"`,
    host: goOn,
  })),
  {
    name: "a step of a rebase in a worktree",
    script: `started .git/worktrees/tree tree .git "exec touch $mark\\n"`,
    host: `cd tree; ${goOn}`,
  },
  {
    name: "a step of a rebase in a worktree elsewhere",
    script: `started .git/worktrees/away away .git "exec touch $mark\\n"`,
    host: `cd "$away"; ${goOn}`,
  },
  {
    name: "a step of a rebase in a submodule",
    script: `started .git/modules/lib main .git/modules/lib "exec touch $mark\\n"`,
    host: `cd lib; ${goOn}`,
  },
  {
    name: "a step of a rebase in a nested repository",
    script: `started nested/.git main nested/.git "exec touch $mark\\n"`,
    host: `cd nested; ${goOn}`,
  },
  {
    name: "a step of a rebase in a repository of the sandbox's",
    script: `repository new; commits new; started new/.git main new/.git "exec touch $mark\\n"`,
    host: `cd new; git reset -q --hard; ${goOn}`,
  },
  {
    name: "a strategy of a rebase that is a program of the project's",
    script: `program; started .git main .git "pick $(cat .git/refs/heads/side) side\\n"; echo x/run > .git/rebase-merge/strategy`,
    host: goOn,
  },
  {
    name: "a strategy of a cherry-pick that is a program of the project's",
    script: `program; mkdir .git/sequencer; printf '[options]\\n\\tstrategy = x/run\\n' > .git/sequencer/opts
      cat .git/refs/heads/main > .git/sequencer/head; cat .git/refs/heads/main > .git/sequencer/abort-safety
      printf "pick $(cat .git/refs/heads/main) main\\npick $(cat .git/refs/heads/side) side\\n" > .git/sequencer/todo`,
    host: "git checkout -q .; git cherry-pick --continue; git cherry-pick --skip",
  },
  {
    name: "an index with a hook",
    script: forgedIndex(".git", ".git/hooks/post-checkout"),
    host: "git checkout -q -- .; git checkout -q -f main",
  },
  {
    name: "an index with a hook, in a submodule",
    script: forgedIndex(".git/modules/lib", "../.git/modules/lib/hooks/post-checkout"),
    host: "cd lib; git checkout -q -- .; git checkout -q -f main",
  },
  {
    name: "an index with a hook, in a worktree",
    script: forgedIndex(".git/worktrees/tree", "../.git/hooks/post-checkout"),
    host: "cd tree; git checkout -q -- .; git checkout -q -f tree",
  },
  {
    name: "an index with a hook, in a repository of the sandbox's",
    script: `repository new; commits new; ${forgedIndex("new/.git", ".git/hooks/post-checkout")}`,
    host: "cd new; git checkout -q -- .; git checkout -q -f main",
  },
  {
    name: "where a remote is",
    script: `mkdir -p .git/remotes; echo "URL: $mark" > .git/remotes/origin`,
    host: `[ "$(git ls-remote --get-url origin)" = origin ] || touch "$mark"`,
  },
  {
    name: "where a remote is, by the older way",
    script: `mkdir -p .git/branches; echo "$mark" > .git/branches/origin`,
    host: `[ "$(git ls-remote --get-url origin)" = origin ] || touch "$mark"`,
  },
  {
    name: "a log that is a link",
    script: `rm .git/logs/HEAD; ln -s "$mark" .git/logs/HEAD`,
    host: "git commit -q --allow-empty -m x",
  },
  {
    name: "a log that is a link, in a repository of the sandbox's",
    script: `repository new; commits new; mkdir new/.git/logs; ln -s "$mark" new/.git/logs/HEAD`,
    host: "cd new; git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m x",
  },
  {
    name: "a replacement in the packed references",
    script: `replaced=$(cat .git/refs/heads/main); echo "$(cat .git/refs/heads/side) refs/replace/$replaced" >> .git/packed-refs`,
    host: `[ "$(git log -1 --format=%s main)" = first ] || touch "$mark"`,
  },
];

export function stateScriptOf({ script }: GitStateAttack, mark: string): string {
  return `${prelude(mark)}${script}\ntrue`;
}

const setUp = `
set -e
start() { git init -q -b main "$1"; git -C "$1" config user.name A; git -C "$1" config user.email a@example.com; }
start .
echo code > code.txt; git add code.txt; git commit -q -m first
git checkout -q -b side; echo side > side.txt; git add side.txt; git commit -q -m side; git checkout -q main
echo main > main.txt; git add main.txt; git commit -q --amend -m first
git worktree add -q -b tree tree; git worktree add -q -b away "$away"
mkdir lib .git/modules; git init -q -b main --separate-git-dir .git/modules/lib lib
start nested
for part in lib nested; do
  git -C $part -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m part
done
`;

export interface GitStateProject {
  readonly path: string;
  /** What the user does next. */
  onHost(script: string, mark: string): Promise<void>;
}

export async function makeGitStateProject(actor: Actor): Promise<GitStateProject> {
  const path = actor.folder();
  const away = `${actor.folder("elsewhere")}/away`;
  const run = (script: string) => runOutside(actor, ["sh", "-c", `away='${away}'; ${script}`], path);
  const made = await run(setUp);
  if (made.status !== 0) throw new Error(`no repository could be made: ${made.stderr}`);
  return {
    path,
    onHost: async (script, mark) => {
      await run(`mark='${mark}'; export GIT_EDITOR=true; ${script}; true`);
    },
  };
}
