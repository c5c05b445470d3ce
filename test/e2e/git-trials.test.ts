/** What a sandbox may do to a repository with hidden files, the rude things too: the user's is sound afterwards. */
import { existsSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { type GitProject, makeGitProject, secrets } from "../support/git-project.js";
import { outlastClockTick } from "../support/project.js";
import { runIn } from "../support/run-cli.js";

const sync = ["--workspace", "sync", "sh", "-c"];

const trials = [
  { name: "a directory with a hidden file is moved by git", script: "git mv deploy ops; git commit -qam moved" },
  { name: "a directory with a hidden file is moved", script: "mv deploy ops; git add -A; git commit -qm moved" },
  { name: "a directory with a hidden file is removed", script: "rm -rf deploy; git add -A; git commit -qm removed" },
  { name: "a file takes a directory's place", script: "rm -rf deploy; echo x > deploy; git add -A; git commit -qm x" },
  { name: "a file of a hidden file's name is made", script: "echo A=1 > .env; git add -A; git commit -qm made" },
  { name: "everything is taken out of the index", script: "git rm -rq --cached .; git commit -qm emptied" },
  { name: "all is removed by git", script: "git rm -rqf .; git commit -qm removed" },
  { name: "everything is cleaned", script: "git clean -fdxq; git checkout -qf; git reset -q --hard; git stash -uq" },
  { name: "objects are pruned", script: "git reflog expire --expire=now --all; git gc -q --prune=now --aggressive" },
  { name: "objects are removed", script: "rm -rf .git/objects/??" },
  { name: "references are removed", script: "rm -rf .git/refs/heads .git/packed-refs" },
  { name: "the repository is removed", script: "rm -rf .git" },
  { name: "the repository is made anew", script: "rm -rf .git; git init -q; git add -A; git commit -qm anew" },
  { name: "the repository is moved", script: "mv .git .other; git init -q; git add -A; git commit -qm anew" },
  { name: "the repository becomes a file", script: "mv .git real; echo gitdir: real > .git; git status" },
  {
    name: "the working tree is set elsewhere",
    script: "mkdir w; git config core.worktree ../w; git add -A; git commit -qm w",
  },
  {
    name: "the index is elsewhere",
    script: "GIT_INDEX_FILE=/tmp/i git add -A; GIT_INDEX_FILE=/tmp/i git commit -qm lossy",
  },
  { name: "GIT_DIR is set", script: "export GIT_DIR=.git GIT_WORK_TREE=.; git add -A; git commit -qm set" },
  {
    name: "no branch is checked out",
    script: "git checkout -q --detach; echo x > x; git add -A; git commit -qm detached",
  },
  { name: "a branch without a commit is checked out", script: "git checkout -q --orphan empty" },
  { name: "the index is of version 4", script: "git update-index --index-version 4; git commit -qm x --allow-empty" },
  { name: "the index is split", script: "git update-index --split-index; git commit -qm x --allow-empty" },
  { name: "the index is broken", script: "echo x > .git/index" },
  { name: "the checkout is made sparse", script: "git sparse-checkout set deploy; git commit -qm x --allow-empty" },
  {
    name: "a checkout that was sparse is whole",
    script: "git sparse-checkout set deploy; git sparse-checkout disable",
  },
  {
    name: "a large file is a pointer",
    script: "echo '*.bin filter=lfs' > .gitattributes; echo pointer > a.bin; git add -A; git commit -qm x",
  },
  { name: "a bare repository lies beside", script: "git init -q --bare beside.git; git push -q beside.git main" },
  {
    name: "a worktree is made",
    script: "git worktree add -q /tmp/tree -b tree; cd /tmp/tree; echo x > x; git add -A; git commit -qm x",
  },
  { name: "a rebase has commands", script: "git commit -qm x --allow-empty; git rebase -q --exec false HEAD~" },
  {
    name: "a merge has conflicts",
    script:
      "git checkout -qb a; echo a > code.txt; git commit -qam a; git checkout -q main; echo m > code.txt; git commit -qam m; git merge -q a",
  },
  {
    name: "history is filtered",
    script: "git filter-branch -f --index-filter 'git rm -q --cached --ignore-unmatch .env' HEAD",
  },
  {
    name: "a submodule takes a hidden file's place",
    script:
      "git update-index --force-remove .env; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),.env; git commit -qm x",
  },
];

function expectSound(project: GitProject): void {
  expect(project.secretsOnDisk()).toEqual(secrets);
  project.git("fsck", "--strict");
  project.git("status");
  expect(project.secretsIn("main")).toEqual(secrets);
}

describe.each(actors)("as $name", (actor) => {
  it.each(trials)("sync: $name, and the user's repository is sound", async ({ script }) => {
    const project = makeGitProject(actor);
    const head = project.git("rev-parse", "HEAD").trim();
    await runIn(actor, [...sync, script], { cwd: project.path });
    expectSound(project);
    expect(project.git("cat-file", "-t", head)).toBe("commit\n");
  });

  it("sync: the branch that is checked out can be renamed, and not be removed", async () => {
    const project = makeGitProject(actor);
    const renamed = "git branch -m main trunk; echo two >> code.txt; git commit -qam two";
    const { stderr } = await runIn(actor, [...sync, renamed], { cwd: project.path });
    expect(stderr).not.toContain("git: ");
    expect(project.git("branch", "--show-current")).toBe("trunk\n");
    expect(project.git("log", "-1", "--format=%s")).toBe("two\n");
    outlastClockTick();
    const removed = "git checkout -qb old HEAD~; git branch -qD trunk";
    const second = await runIn(actor, [...sync, removed], { cwd: project.path });
    expect(second.stderr).toContain("the sandbox removed refs/heads/trunk, which is checked out");
    expect(project.git("log", "-1", "--format=%s", "trunk")).toBe("two\n");
  });

  it("sync: git of the host writes through no link that a sandbox made in the repository", async () => {
    const project = makeGitProject(actor);
    const outside = join(actor.folder("outside"), "victim");
    writeFileSync(outside, "mine\n");
    const script = `for name in logs/HEAD logs/refs/heads/main COMMIT_EDITMSG ORIG_HEAD FETCH_HEAD description; do
      rm -f ".git/$name"; ln -s '${outside}' ".git/$name"; done; rm -rf .git/logs/refs; ln -s '${outside}' .git/logs/refs`;
    await runIn(actor, [...sync, script], { cwd: project.path });
    for (const name of ["logs/HEAD", "logs/refs", "COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "description"]) {
      const stat = lstatSync(join(project.path, ".git", name), { throwIfNoEntry: false });
      expect(stat?.isSymbolicLink() ?? false, name).toBe(false);
    }
    writeFileSync(join(project.path, "code.txt"), "two\n");
    project.git("commit", "--quiet", "--all", "--message=of the host");
    expect(readFileSync(outside, "utf8")).toBe("mine\n");
    expectSound(project);
  });

  it("sync: an unfinished rebase does not run a command in the user's repository", async () => {
    const project = makeGitProject(actor);
    const script = `git commit -qm two --allow-empty; GIT_SEQUENCE_EDITOR="sed -i '1i break'" git rebase -qi HEAD~
      echo "exec touch owned" >> .git/rebase-merge/git-rebase-todo`;
    const { stderr } = await runIn(actor, [...sync, script], { cwd: project.path });
    expect(stderr).toContain(
      "a rebase is not finished, and git on the host could run commands of .git/rebase-merge/git-rebase-todo",
    );
    expect(existsSync(join(project.path, ".git/rebase-merge"))).toBe(false);
    expectSound(project);
  });
});

const FILES = 10_000;

function makeLarge(actor: Actor): GitProject {
  const files = Object.fromEntries(
    Array.from({ length: FILES }, (_, n) => [`src/d${n % 100}/f${n}.txt`, `${n}\n`.repeat(5)]),
  );
  const project = makeGitProject(actor, files);
  for (let commit = 0; commit < 20; commit += 1) {
    writeFileSync(join(project.path, `src/d${commit}/f${commit}.txt`), `changed ${commit}\n`);
    project.git("commit", "--quiet", "--all", `--message=change ${commit}`);
  }
  outlastClockTick();
  return project;
}

describe(`a repository of ${FILES} files`, () => {
  const [actor] = actors;
  it.skipIf(actor === undefined)("merge, rebase, cherry-pick, stash, switch and worktree lose nothing", async () => {
    if (actor === undefined) return;
    const project = makeLarge(actor);
    const tracked = project.git("ls-tree", "-r", "--name-only", "HEAD").split("\n");
    const script = `set -e
      git checkout -qb topic HEAD~5; echo t > topic.txt; echo t >> src/d50/f50.txt; git add -A; git commit -qm topic
      git checkout -q main; echo m > main.txt; git add -A; git commit -qm more; git merge -q --no-ff topic -m merged
      git checkout -q topic; git rebase -q main; git checkout -qb picked HEAD~3; git cherry-pick main~1 >/dev/null
      echo s >> code.txt; echo new > new.txt; git stash -qu; git switch -q main; git stash pop -q
      git worktree add -q /tmp/tree -b tree; cd /tmp/tree; echo w > w.txt; git add w.txt; git commit -qm tree; cd -
      git worktree remove --force /tmp/tree; git add -A; git commit -qm two; git status --short`;
    const result = await runIn(actor, [...sync, script], { cwd: project.path });
    expect(result, result.stderr).toMatchObject({ status: 0 });
    expect(result.stderr).not.toContain("git: ");
    expect(project.git("status", "--short")).toBe("");
    expectSound(project);
    expect(project.git("log", "-1", "--format=%s")).toBe("two\n");
    const still = new Set(project.git("ls-tree", "-r", "--name-only", "HEAD").split("\n"));
    expect(tracked.filter((name) => !still.has(name))).toEqual([]);
    expect(project.git("ls-files", "--deleted")).toBe("");
  });
});
