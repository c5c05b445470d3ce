/** Git inside a sandbox, in a repository that tracks files which the sandbox does not see. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { type GitProject, makeGitProject, secrets } from "../support/git-project.js";
import { outlastClockTick } from "../support/project.js";
import { runIn } from "../support/run-cli.js";

const gone = Object.fromEntries(Object.keys(secrets).map((name) => [name, null]));
const sync = ["--workspace", "sync", "sh", "-ec"];

/** Marks that hide something from `git status`: S for skipped, lower case for assumed to be unchanged. */
function marked(project: GitProject): readonly string[] {
  return project
    .git("ls-files", "-v")
    .split("\n")
    .filter((line) => /^[a-zS]/.test(line));
}

function expectWhole(project: GitProject): void {
  expect(project.secretsIn("HEAD")).toEqual(secrets);
  expect(project.secretsOnDisk()).toEqual(secrets);
  expect(project.git("diff", "--cached", "--name-status")).toBe("");
  expect(marked(project)).toEqual([]);
  project.git("fsck", "--strict");
}

const ordinary = [
  { name: "add and commit", script: "echo two >> code.txt; git add -A; git commit -qm two" },
  { name: "commit of everything", script: "echo two >> code.txt; git commit -qam two" },
  { name: "a commit of one path", script: "echo two >> code.txt; git commit -qm two ." },
  { name: "amend", script: "echo two >> code.txt; git commit -qa --amend -m two" },
  {
    name: "branches and a merge",
    script: `git checkout -qb side; echo side > side; git add -A; git commit -qm side
      git checkout -q main; echo main > main; git add .; git commit -qm main; git merge -q side -m two`,
  },
  {
    name: "rebase",
    script: `git checkout -qb side; echo side > side; git add -A; git commit -qm two
      git checkout -q main; echo main > main; git add -A; git commit -qm main; git checkout -q side; git rebase -q main`,
  },
  {
    name: "stash",
    script: `echo two >> code.txt; echo new > new; git stash -qu; git stash pop -q; git add -A; git commit -qm two`,
  },
  { name: "reset", script: "echo two >> code.txt; git commit -qam x; git reset -q --soft HEAD~; git commit -qm two" },
  { name: "clean and hard reset", script: "git clean -fdxq; git reset -q --hard; git commit -q --allow-empty -m two" },
  { name: "garbage collection", script: "echo two >> code.txt; git commit -qam two; git gc -q" },
];

const lossy = [
  {
    name: "an index that was made anew",
    script: "rm .git/index; git reset -q; git add -A; git commit -qm lossy",
  },
  {
    name: "a removal of the index entry",
    script: "git update-index --force-remove .env; git commit -qm lossy",
  },
  {
    name: "an emptied file",
    script: `blob=$(git hash-object -w /dev/null); git update-index --cacheinfo "100644,$blob,.env"; git commit -qm lossy`,
  },
  {
    name: "a branch written anew without history",
    script:
      "git checkout -q --orphan other; rm .git/index; git add -A; git commit -qm lossy; git branch -qM other main",
  },
  {
    name: "a loss below other commits, in a pack",
    script: `rm .git/index; git reset -q; git add -A; git commit -qm lossy; echo more > more; git add -A; git commit -qm lossy
      git repack -adq; git pack-refs --all`,
  },
  {
    name: "a stash",
    script: "rm .git/index; git reset -q; echo x > code.txt; git add -A; git stash -q",
  },
  {
    name: "a branch of another name",
    script: "rm .git/index; git reset -q; git checkout -qb b; git add -A; git commit -qm lossy",
  },
  {
    name: "a tag",
    script: "rm .git/index; git reset -q; git checkout -q --detach; git add -A; git commit -qm lossy; git tag -am x v1",
  },
  {
    name: "a history written anew whose old objects are gone",
    script: `first=$(git rev-parse HEAD); git checkout -q --orphan other; rm .git/index; git add -A; git commit -qm lossy
      git branch -qM other main; rm -f ".git/objects/$(echo "$first" | cut -c 1-2)/$(echo "$first" | cut -c 3-)"
      if git cat-file -e "$first"; then exit 1; fi`,
  },
  { name: "something staged", script: "git update-index --force-remove .env deploy/id_rsa" },
  { name: "no index", script: "rm .git/index" },
];

describe.each(actors)("a repository with hidden files, as $name", (actor) => {
  it("outside, git records what is missing as deleted", () => {
    const project = makeGitProject(actor);
    for (const name of Object.keys(secrets)) project.git("rm", "--quiet", "--cached", name);
    project.git("commit", "--quiet", "--message=lossy");
    expect(project.secretsIn("HEAD")).toEqual(gone);
  });

  it.each(ordinary)("sync: $name keeps them", async ({ script }) => {
    const project = makeGitProject(actor);
    const result = await runIn(actor, [...sync, `test ! -e .env; ${script}; git status --short`], {
      cwd: project.path,
    });
    expect(result).toMatchObject({ status: 0, stdout: "" });
    expect(result.stderr).not.toContain("git: ");
    expect(project.git("log", "--all", "--format=%s")).toContain("two\n");
    expectWhole(project);
    expect(project.git("status", "--short")).toBe("");
  });

  it.each(lossy)("sync: $name is not carried over, and that is said", async ({ script }) => {
    const project = makeGitProject(actor);
    const before = project.git("for-each-ref");
    const words = [...sync, `${script}; echo new > new`];
    const result = await runIn(actor, words, { cwd: project.path });
    expect(result).toMatchObject({ status: 0 });
    expect(result.stderr).toMatch(
      /git: \.git\/: (commit [0-9a-f]{12}|the index) (deletes|empties) (\.env|deploy\/id_rsa)/,
    );
    expect(project.git("for-each-ref")).toBe(before);
    expect(project.git("status", "--short")).toContain("?? new\n");
    expectWhole(project);
  });

  it("sync: a commit that is left behind by one sandbox is not taken for the user's by the next", async () => {
    const project = makeGitProject(actor);
    const first = `rm .git/index; git reset -q; git add -A; git commit -qm lossy; git rev-parse HEAD`;
    const { stdout } = await runIn(actor, [...sync, first], { cwd: project.path });
    expect(project.git("cat-file", "-t", stdout.trim())).toBe("commit\n");
    outlastClockTick();
    const second = await runIn(actor, [...sync, `git update-ref refs/heads/main ${stdout.trim()}`], {
      cwd: project.path,
    });
    expect(second.stderr).toContain("git: .git/: commit ");
    expectWhole(project);
  });

  it("sync: what the user's own history deletes can be merged, and gone back to", async () => {
    const project = makeGitProject(actor);
    project.git("checkout", "--quiet", "-b", "without");
    project.git("rm", "--quiet", "--cached", ".env");
    project.git("commit", "--quiet", "--message=without");
    project.git("checkout", "--quiet", "--force", "main");
    writeFileSync(join(project.path, ".env"), secrets[".env"] ?? "");
    outlastClockTick();
    const script = "git reset -q --hard without; git reset -q --hard ORIG_HEAD; git merge -q without -m merged";
    const result = await runIn(actor, [...sync, script], { cwd: project.path });
    expect(result).toMatchObject({ status: 0 });
    expect(result.stderr).not.toContain("git: ");
    expect(project.git("rev-parse", "main")).toBe(project.git("rev-parse", "without"));
    expect(project.secretsOnDisk()).toEqual(secrets);
  });

  it("sync: marks that hide changes from git status stay inside", async () => {
    const project = makeGitProject(actor);
    const script =
      "git update-index --skip-worktree code.txt; git update-index --assume-unchanged deploy/run.sh; echo evil > code.txt";
    await runIn(actor, [...sync, script], { cwd: project.path });
    expect(marked(project)).toEqual([]);
    expect(project.git("status", "--short")).toBe(" M code.txt\n");
  });

  it("sync: marks in a split index stay inside, and the repository as it was", async () => {
    const project = makeGitProject(actor);
    project.git("rm", "--quiet", ...Object.keys(secrets));
    project.git("commit", "--quiet", "--message=nothing is hidden");
    outlastClockTick();
    const script = "git update-index --skip-worktree code.txt; git update-index --split-index; echo evil > code.txt";
    const result = await runIn(actor, [...sync, script], { cwd: project.path });
    expect(result.stderr).toContain("its index is split");
    expect(marked(project)).toEqual([]);
    expect(project.git("status", "--short")).toBe(" M code.txt\n");
  });

  it("sync: what another branch has outside of a sparse checkout does not look deleted", async () => {
    const project = makeGitProject(actor, { "in/a": "a\n", "out/a": "a\n" });
    project.git("checkout", "--quiet", "-b", "side");
    writeFileSync(join(project.path, "out/b"), "b\n");
    project.git("add", "--all", "--force");
    project.git("commit", "--quiet", "--message=side");
    project.git("checkout", "--quiet", "main");
    project.git("sparse-checkout", "set", "in", "deploy");
    outlastClockTick();
    await runIn(actor, [...sync, "git checkout -q side; echo two > in/b; git add in/b; git commit -qm two"], {
      cwd: project.path,
    });
    expect(project.git("status", "--short")).toBe("");
    expect(marked(project)).toEqual(["S out/a", "S out/b"]);
    expect(project.git("ls-tree", "-r", "--name-only", "HEAD")).toContain("out/b");
  });

  it("sync: where the host commits meanwhile, its branch and index stay together", async () => {
    const project = makeGitProject(actor);
    const signals = actor.folder("signals");
    const script = `git checkout -qb side; echo side > side.txt; git add -A; git commit -qm side
      git branch -f main; touch /signals/ready; until test -e /signals/go; do sleep 0.02; done`;
    const words = ["--workspace", "sync", "--mount", `${signals}:/signals`, "sh", "-ec", script];
    const ended = runIn(actor, words, { cwd: project.path });
    await Promise.race([expect.poll(() => existsSync(join(signals, "ready")), { timeout: 60_000 }).toBe(true), ended]);
    writeFileSync(join(project.path, "code.txt"), "of the host\n");
    project.git("commit", "--quiet", "--all", "--message=of the host");
    writeFileSync(join(signals, "go"), "");
    const { stderr } = await ended;
    expect(stderr).toMatch(/changed on the host meanwhile: .*\.git\/HEAD, .*\.git\/index, .*\.git\/refs\/heads\/main/);
    expect(project.git("branch", "--show-current")).toBe("main\n");
    expect(project.git("log", "--format=%s", "main")).toBe("of the host\nfirst\n");
    expect(project.git("log", "--format=%s", "side")).toBe("side\nfirst\n");
    expect(project.git("status", "--short")).toBe("?? side.txt\n");
    expectWhole(project);
  });

  it.each([["2"], ["4"]])(
    "sync: an index of version %s, and marks that the user has set, stay as they are",
    async (version) => {
      const project = makeGitProject(actor);
      project.git("update-index", "--index-version", version);
      project.git("update-index", "--skip-worktree", "deploy/run.sh");
      outlastClockTick();
      await runIn(actor, [...sync, "echo two >> code.txt; git add -A; git commit -qm two"], { cwd: project.path });
      expect(project.git("log", "-1", "--format=%s")).toBe("two\n");
      expect(marked(project)).toEqual(["S deploy/run.sh"]);
      expect(project.secretsIn("HEAD")).toEqual(secrets);
    },
  );

  it("sync: submodules and nested repositories", async () => {
    const project = makeGitProject(actor);
    const library = makeGitProject(actor);
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.path, "lib");
    project.git("commit", "--quiet", "--message=with a submodule");
    outlastClockTick();
    const identity = "git config --global user.name A; git config --global user.email a@example.com";
    const script = `${identity}; cd lib; test ! -e .env; echo two >> code.txt; git add -A; git commit -qm two; cd ..; git add -A; git commit -qm two`;
    const result = await runIn(actor, [...sync, script], { cwd: project.path });
    expect(result).toMatchObject({ status: 0 });
    const inLibrary = (...words: string[]) => project.git("-C", "lib", ...words);
    expect(inLibrary("log", "-1", "--format=%s")).toBe("two\n");
    expect(inLibrary("ls-tree", "-r", "--name-only", "HEAD").split("\n")).toEqual(
      expect.arrayContaining(Object.keys(secrets)),
    );
    expect(inLibrary("status", "--short")).toBe("");
    expectWhole(project);
  });

  it("copy: git sees nothing missing, and the host's index is untouched", async () => {
    const project = makeGitProject(actor);
    const result = await runIn(
      actor,
      ["sh", "-ec", "git status --short; git commit -qm x --allow-empty; git show --stat --format="],
      {
        cwd: project.path,
      },
    );
    expect(result).toMatchObject({ status: 0, stdout: "" });
    expect(project.git("log", "--format=%s")).toBe("first\n");
    expectWhole(project);
  });

  it("mount: the repository is read-only, and that is said", async () => {
    const project = makeGitProject(actor);
    const script = "git status > /dev/null && echo readable; echo two >> code.txt; git add -A && git commit -qm two";
    const result = await runIn(actor, ["--workspace", "mount", "sh", "-c", script], { cwd: project.path });
    expect(result).toMatchObject({ status: 128, stdout: "readable\n" });
    expect(result.stderr).toContain("git: .git is read-only: files that are hidden from the sandbox are tracked there");
    expect(project.git("log", "--format=%s")).toBe("first\n");
    expectWhole(project);
  });

  it("mount: without hidden files git can commit", async () => {
    const project = makeGitProject(actor);
    for (const name of Object.keys(secrets)) project.git("rm", "--quiet", "--cached", name);
    writeFileSync(join(project.path, ".git/info/exclude"), ".env\nid_rsa\n");
    project.git("commit", "--quiet", "--message=untracked");
    const script = "echo two >> code.txt; git add code.txt && git commit -qm two";
    const result = await runIn(actor, ["--workspace", "mount", "sh", "-c", script], { cwd: project.path });
    expect(result).toMatchObject({ status: 0 });
    expect(project.git("log", "-1", "--format=%s", "--", "code.txt")).toBe("two\n");
    expect(project.secretsOnDisk()).toEqual(secrets);
  });
});
