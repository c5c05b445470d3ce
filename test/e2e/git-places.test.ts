/** Repositories that are not all in the project: worktrees, submodules, directories within a repository. */
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { type GitProject, gitAs, makeGitProject, secrets } from "../support/git-project.js";
import { outlastClockTick } from "../support/project.js";
import { runCli, runIn, startCli } from "../support/run-cli.js";

interface Place {
  readonly path: string;
  /** The repository around it. */
  readonly main: GitProject;
  git(...words: string[]): string;
}

function makeWorktree(actor: Actor): Place {
  const main = makeGitProject(actor);
  const path = join(actor.folder("trees"), "tree");
  main.git("worktree", "add", "--quiet", "-b", "side", path);
  outlastClockTick();
  return { path, main, git: (...words) => gitAs(actor, path, words) };
}

const around = { "shop/code.txt": "one\n", "shop/.env": "API_KEY=sk-live-0123456789abcdef0123456789abcdef\n" };

function makeDirectory(actor: Actor): Place {
  const main = makeGitProject(actor, { ...around, "other/a.txt": "a\n" });
  const path = join(main.path, "shop");
  return { path, main, git: (...words) => gitAs(actor, path, words) };
}

function makeSubmodule(actor: Actor): Place {
  const main = makeGitProject(actor);
  const library = makeGitProject(actor);
  main.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.path, "lib");
  main.git("commit", "--quiet", "--message=with a submodule");
  const path = join(main.path, "lib");
  gitAs(actor, path, ["config", "user.name", "Ada"]);
  gitAs(actor, path, ["config", "user.email", "ada@example.com"]);
  outlastClockTick();
  return { path, main, git: (...words) => gitAs(actor, path, words) };
}

const places = [
  { name: "a worktree", make: makeWorktree },
  { name: "a directory within a repository", make: makeDirectory },
  { name: "a submodule", make: makeSubmodule },
];

const all = places.flatMap((place) =>
  actors.map((actor) => ({ ...place, actor, as: `${place.name}, as ${actor.name}` })),
);
const sync = ["--workspace", "sync", "sh", "-ec"];

function expectSound({ git, main }: Place): void {
  expect(git("status", "--short")).toBe("");
  expect(
    git("ls-files", "-v")
      .split("\n")
      .filter((line) => /^[a-zS]/.test(line)),
  ).toEqual([]);
  git("fsck", "--strict");
  expect(main.secretsOnDisk()).toEqual(secrets);
  expect(main.git("status", "--short", "--ignore-submodules")).toBe("");
}

describe.each(all)("$as, and a sandbox that stays", ({ make, actor }) => {
  it("sync: commits of several commands are carried over by stop, and nothing is lost", async () => {
    const place = make(actor);
    const client = { ...actor, variables: { ...actor.variables, XDG_STATE_HOME: actor.ownFolder("state") } };
    const cli = (...words: string[]) => runCli(client, words, { cwd: place.path });
    const tracked = place.main.git("ls-tree", "-r", "--name-only", "HEAD");
    try {
      const made = await cli("create", "tree", "--no-network", "--workspace", "sync");
      expect(made, made.stderr).toMatchObject({ status: 0 });
      for (const subject of ["two", "three"]) {
        const script = `test ! -e .env; echo ${subject} >> code.txt; git add -A; git commit -qm ${subject}; git status --short`;
        const done = await cli("exec", "tree", "sh", "-ec", script);
        expect(done, done.stderr).toMatchObject({ status: 0, stdout: "" });
      }
      expect(place.git("log", "-1", "--format=%s")).not.toBe("three\n");
      const stopped = await cli("stop", "tree");
      expect(stopped, stopped.stderr).toMatchObject({ status: 0 });
      expect(place.git("log", "-2", "--format=%s")).toBe("three\ntwo\n");
      expectSound(place);
      expect(place.main.git("ls-tree", "-r", "--name-only", "HEAD")).toBe(tracked);
    } finally {
      await cli("remove", "--force", "tree");
      await cli("daemon", "stop", "--all");
    }
  });
});

/** A worktree within the project, whose branch has a secret that the main one has not. */
function makeInnerWorktree(actor: Actor): Place {
  const main = makeGitProject(actor);
  const path = join(main.path, "trees/side");
  writeFileSync(join(main.path, ".git/info/exclude"), "trees\n");
  main.git("worktree", "add", "--quiet", "-b", "side", path);
  const git = (...words: string[]) => gitAs(actor, path, words);
  mkdirSync(join(path, "own"));
  writeFileSync(join(path, "own/.env"), secrets[".env"] ?? "");
  if (process.getuid?.() === 0) {
    for (const name of ["own", "own/.env"]) chownSync(join(path, name), actor.uid, actor.gid);
  }
  git("add", "--force", "own/.env");
  git("commit", "--quiet", "--message=with a secret of its own");
  outlastClockTick();
  return { path, main, git };
}

describe.each(actors)("a worktree within the project, as $name", (actor) => {
  it.each([["git add -A && git commit -qm two"], ["git commit -qam two"]])(
    "sync: %s in it keeps what is hidden there",
    async (script) => {
      const { path, main, git } = makeInnerWorktree(actor);
      const words = [...sync, `cd trees/side; test ! -e own/.env; echo two >> code.txt; ${script}; git status --short`];
      const result = await runIn(actor, words, { cwd: main.path });
      expect(result, result.stderr).toMatchObject({ status: 0, stdout: "" });
      expect(git("log", "-1", "--format=%s")).toBe("two\n");
      expect(git("ls-tree", "-r", "--name-only", "HEAD")).toContain("own/.env");
      expect(git("status", "--short")).toBe("");
      expect(git("ls-files", "-v")).not.toMatch(/^[a-zS]/m);
      expect(readFileSync(join(path, "own/.env"), "utf8")).toBe(secrets[".env"]);
      main.git("fsck", "--strict");
    },
  );

  it("sync: a commit that deletes it is not carried over", async () => {
    const { main, git } = makeInnerWorktree(actor);
    const before = main.git("for-each-ref");
    const script = "cd trees/side; git update-index --force-remove own/.env; git commit -qm lossy";
    const { stderr } = await runIn(actor, [...sync, script], { cwd: main.path });
    expect(stderr).toMatch(/git: \.git\/: commit [0-9a-f]{12} deletes own\/\.env/);
    expect(main.git("for-each-ref")).toBe(before);
    expect(git("status", "--short")).toBe("");
  });

  it("sync: one that lies elsewhere keeps its HEAD and index, whatever is done to them", async () => {
    const { path, main, git } = makeWorktree(actor);
    const script = "rm -r .git/worktrees/tree; git worktree prune; git branch -f new side";
    const { status } = await runIn(actor, [...sync, script], { cwd: main.path });
    expect(status).toBe(0);
    expect(existsSync(path)).toBe(true);
    expect(git("status", "--short")).toBe("");
    expect(git("branch", "--show-current")).toBe("side\n");
    expect(main.git("branch", "--list", "new")).toContain("new");
  });
});

describe.each(all)("$as", ({ make, actor }) => {
  const look =
    "git log -1 --format=%s; git status --short; echo two >> code.txt; git diff --stat -- code.txt | tail -1";

  it.each([["copy"], ["sync"], ["mount"]])("%s: git knows the repository, and misses nothing", async (form) => {
    const { path, git } = make(actor);
    const subject = git("log", "-1", "--format=%s");
    const result = await runIn(actor, ["--workspace", form, "sh", "-ec", look], { cwd: path });
    expect(result, result.stderr).toMatchObject({
      status: 0,
      stdout: `${subject} 1 file changed, 1 insertion(+)\n`,
    });
  });

  it("copy: a commit works, and stays inside", async () => {
    const place = make(actor);
    const before = place.git("rev-parse", "HEAD");
    const script = "echo two >> code.txt; git commit -qam two; git log -1 --format=%s; git status --short";
    const result = await runIn(actor, ["sh", "-ec", script], { cwd: place.path });
    expect(result).toMatchObject({ status: 0, stdout: "two\n" });
    expect(place.git("rev-parse", "HEAD")).toBe(before);
    expectSound(place);
  });

  it("mount: a commit fails, and nothing is lost", async () => {
    const { path, git, main } = make(actor);
    const before = git("rev-parse", "HEAD");
    const script = "echo two >> code.txt; git add -A && git commit -qm two";
    const result = await runIn(actor, ["--workspace", "mount", "sh", "-c", script], { cwd: path });
    expect(result.status).toBe(128);
    expect(result.stderr).toContain("Read-only file system");
    expect(git("rev-parse", "HEAD")).toBe(before);
    expect(main.secretsOnDisk()).toEqual(secrets);
  });

  it.each([
    ["add and commit", "echo two >> code.txt; echo new > new.txt; git add -A; git commit -qm two"],
    ["a commit of everything", "echo two >> code.txt; git commit -qam two"],
    ["amend", "echo two >> code.txt; git commit -qa --amend -m two"],
    [
      "branches, a merge and a rebase",
      `start=$(git branch --show-current); git checkout -qb topic; echo topic > topic.txt; git add -A; git commit -qm topic
       git checkout -q -; echo more > more.txt; git add .; git commit -qm more; git checkout -q topic; git rebase -q -
       git checkout -q -; git merge -q --no-ff topic -m two`,
    ],
    [
      "stash",
      "echo two >> code.txt; echo new > new.txt; git stash -qu; git stash pop -q; git add -A; git commit -qm two",
    ],
    ["reset and clean", "git reset -q --hard; git clean -fdxq; echo x > x.txt; git add -A; git commit -qm two"],
    ["garbage collection", "echo two >> code.txt; git commit -qam two; git gc -q"],
  ])("sync: %s is carried over, and nothing is lost", async (_, script) => {
    const place = make(actor);
    const tracked = place.main.git("ls-tree", "-r", "--name-only", "HEAD");
    const result = await runIn(actor, [...sync, `${script}; git status --short`], { cwd: place.path });
    expect(result, result.stderr).toMatchObject({ status: 0, stdout: "" });
    expect(result.stderr).not.toContain("git: ");
    expect(place.git("log", "-1", "--format=%s")).toBe("two\n");
    place.main.git("diff", "--cached", "--quiet", "--ignore-submodules");
    const still = place.main.git("ls-tree", "-r", "--name-only", "HEAD").split("\n");
    expect(still).toEqual(expect.arrayContaining(tracked.split("\n")));
    expectSound(place);
  });

  it("sync: a commit that deletes a hidden file is not carried over, and that is said", async () => {
    const place = make(actor);
    const before = place.git("rev-parse", "HEAD");
    const script = "echo two >> code.txt; git rm -q --cached --sparse .env; git commit -qam lossy";
    const result = await runIn(actor, [...sync, script], { cwd: place.path });
    expect(result, result.stderr).toMatchObject({ status: 0 });
    expect(result.stderr).toMatch(/git: the repository: commit [0-9a-f]{12} deletes (shop\/)?\.env/);
    expect(place.git("rev-parse", "HEAD")).toBe(before);
    expect(place.git("status", "--short")).toMatch(/^ M (shop\/)?code\.txt\n$/);
    place.git("fsck", "--strict");
  });

  it("sync: a rebase that would have the user's git run a command stays inside", async () => {
    const place = make(actor);
    const script = `echo two >> code.txt; git commit -qam two; GIT_SEQUENCE_EDITOR="sed -i '1i break'" git rebase -qi HEAD~ || true
      dir=$(git rev-parse --git-path rebase-merge); echo "exec touch /tmp/owned" >> "$dir/git-rebase-todo"`;
    const result = await runIn(actor, [...sync, script], { cwd: place.path });
    expect(result.stderr).toContain("a rebase is not finished");
    expect(existsSync(place.git("rev-parse", "--git-path", "rebase-merge").trim())).toBe(false);
    expect(place.git("log", "-1", "--format=%s")).not.toBe("two\n");
  });
});

describe.each(actors)("as $name", (actor) => {
  it("sync: a worktree's commit changes nothing else of the repository", async () => {
    const { path, main, git } = makeWorktree(actor);
    const common = join(main.path, ".git");
    const head = readFileSync(join(common, "HEAD"), "utf8");
    const script = `echo two >> code.txt; git commit -qam two; cd '${common}'; mkdir -p hooks info
      printf '#!/bin/sh\\ntouch /tmp/owned\\n' > hooks/post-checkout; chmod +x hooks/post-checkout
      echo '* filter=x' > info/attributes; printf '[core]\\nfsmonitor = touch /tmp/owned\\n' >> config
      cp config config.worktree; cp config worktrees/tree/config.worktree; echo /etc > worktrees/tree/commondir
      echo ref: refs/heads/side > HEAD; mkdir worktrees/new; cp worktrees/tree/* worktrees/new/ 2>/dev/null || true
      ln -sf /etc/passwd logs/link`;
    const before = ["config", "worktrees/tree/commondir", "worktrees/tree/gitdir"].map((name) =>
      readFileSync(join(common, name), "utf8"),
    );
    await runIn(actor, [...sync, script], { cwd: path });
    expect(git("log", "-1", "--format=%s")).toBe("two\n");
    const after = ["config", "worktrees/tree/commondir", "worktrees/tree/gitdir"].map((name) =>
      readFileSync(join(common, name), "utf8"),
    );
    expect(after).toEqual(before);
    expect(readFileSync(join(common, "HEAD"), "utf8")).toBe(head);
    const added = ["hooks/post-checkout", "info/attributes", "config.worktree", "worktrees/tree/config.worktree"];
    for (const name of [...added, "worktrees/new", "logs/link"]) {
      expect(existsSync(join(common, name)), name).toBe(false);
    }
    main.git("fsck", "--strict");
  });

  it("sync: a branch that another worktree has checked out stays where it is", async () => {
    const { path, main } = makeWorktree(actor);
    const before = main.git("rev-parse", "main");
    const script = "echo two >> code.txt; git commit -qam two; git update-ref refs/heads/main HEAD";
    const result = await runIn(actor, [...sync, script], { cwd: path });
    expect(result.stderr).toContain("refs/heads/main, which another working tree has checked out");
    expect(main.git("rev-parse", "main")).toBe(before);
    expect(main.git("status", "--short")).toBe("");
  });

  it("sync: what the host committed on the same branch meanwhile is kept", async () => {
    const { path, git } = makeWorktree(actor);
    const words = [...sync, "echo two >> code.txt; git commit -qam two; echo ready; read line"];
    const child = startCli(actor, ["run", "--no-network", ...words], { cwd: path });
    const told: Buffer[] = [];
    child.stderr?.on("data", (chunk: Buffer) => told.push(chunk));
    await new Promise((resolve) => child.stdout?.once("data", resolve));
    git("commit", "--quiet", "--allow-empty", "--message=of the host");
    const closed = new Promise((resolve) => child.once("close", resolve));
    child.stdin?.end("\n");
    await closed;
    expect(Buffer.concat(told).toString()).toMatch(/the repository: .* changed on the host meanwhile/);
    expect(git("log", "-1", "--format=%s")).toBe("of the host\n");
    expect(git("status", "--short")).toBe(" M code.txt\n");
    git("fsck", "--strict");
  });

  it("sync: what is staged outside of the project stays as the user has it", async () => {
    const { path, main } = makeDirectory(actor);
    main.git("checkout", "--quiet", "-b", "side");
    writeFileSync(join(main.path, "other/a.txt"), "side\n");
    main.git("commit", "--quiet", "--all", "--message=side");
    main.git("checkout", "--quiet", "main");
    outlastClockTick();
    const result = await runIn(actor, [...sync, "git checkout -q side; echo x > x.txt"], { cwd: path });
    expect(result.stderr).toContain("other/a.txt is outside of the project");
    expect(main.git("branch", "--show-current")).toBe("main\n");
    expect(main.git("status", "--short")).toBe("?? shop/x.txt\n");
    expect(readFileSync(join(main.path, "other/a.txt"), "utf8")).toBe("a\n");
  });

  it("files outside of the project cannot be read", async () => {
    const { path, main } = makeDirectory(actor);
    writeFileSync(join(main.path, "other/untracked"), "not for the sandbox\n");
    const script = `ls -A '${main.path}'; cat '${main.path}/.env' '${main.path}/other/untracked' 2>&1 | grep -c 'No such file'`;
    const { stdout } = await runIn(actor, ["sh", "-c", script], { cwd: path });
    expect(stdout).toBe(".git\nshop\n2\n");
  });

  it("a part of a worktree", async () => {
    const { path, git } = makeWorktree(actor);
    const result = await runIn(actor, [...sync, "echo two >> run.sh; git commit -qam two; git status --short"], {
      cwd: join(path, "deploy"),
    });
    expect(result, result.stderr).toMatchObject({ status: 0, stdout: "" });
    expect(git("log", "-1", "--format=%s", "--name-only")).toBe("two\n\ndeploy/run.sh\n");
    expect(git("status", "--short")).toBe("");
  });

  it("a commit in a submodule of a worktree is told not to be carried over", async () => {
    const { path, main } = makeSubmodule(actor);
    void path;
    const tree = join(actor.folder("trees"), "tree");
    main.git("worktree", "add", "--quiet", "-b", "side", tree);
    gitAs(actor, tree, ["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"]);
    outlastClockTick();
    const script =
      "git config --global user.name A; git config --global user.email a@example.com; cd lib; echo two >> code.txt; git commit -qam two";
    const result = await runIn(actor, [...sync, script], { cwd: tree });
    expect(result.stderr).toContain("what the sandbox committed in this submodule stays in the sandbox");
    expect(readFileSync(join(tree, "lib/code.txt"), "utf8")).toBe("one\ntwo\n");
  });

  it("a repository that borrows objects of another finds them, and they stay as they are", async () => {
    const library = makeGitProject(actor);
    const path = join(actor.folder("clones"), "clone");
    gitAs(actor, library.path, ["clone", "--quiet", "--shared", library.path, path]);
    outlastClockTick();
    const identity = "git config --global user.name A; git config --global user.email a@example.com";
    const script = `${identity}; echo two >> code.txt; git commit -qam two; git log --format=%s; touch '${library.path}/.git/objects/x' || true`;
    const result = await runIn(actor, [...sync, script], { cwd: path });
    expect(result, result.stderr).toMatchObject({ status: 0, stdout: "two\nfirst\n" });
    expect(result.stderr).toContain("Read-only file system");
    expect(gitAs(actor, path, ["log", "-1", "--format=%s"])).toBe("two\n");
    gitAs(actor, path, ["fsck", "--strict"]);
    library.git("fsck", "--strict");
  });

  it("a project cannot name a directory that it knows nothing of as a place of objects", async () => {
    const secret = makeGitProject(actor);
    const project = makeGitProject(actor, { "only-here": "x\n" });
    const plain = actor.folder("plain");
    mkdirSync(join(plain, "objects"));
    writeFileSync(join(plain, "objects/private.txt"), "private\n");
    const list = [`${secret.path}/.git/objects`, `${plain}/objects`, "/etc", actor.home].join("\n");
    writeFileSync(join(project.path, ".git/objects/info/alternates"), `${list}\n`);
    const script = `ls '${secret.path}/.git/objects' '${plain}/objects' 2>&1 | grep -c 'No such file'; git status --short 2>/dev/null`;
    const { stdout } = await runIn(actor, ["sh", "-c", script], { cwd: project.path });
    expect(stdout).toBe("2\n");
  });

  it("a password of a remote is not shown in the repository of a worktree either", async () => {
    const { path, main } = makeWorktree(actor);
    const secret = "pl4nted-p4ssw0rd-0f-a-rem0te";
    main.git("remote", "add", "origin", `https://me:${secret}@example.com/a.git`);
    outlastClockTick();
    const script = `git remote get-url origin; grep -rl ${secret} '${main.path}/.git'; true`;
    const { stdout } = await runIn(actor, ["sh", "-c", script], { cwd: path });
    expect(stdout).toBe("https://example.com/a.git\n");
  });
});
