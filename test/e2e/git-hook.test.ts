/** Git as an agent uses it: Claude Code's hook puts the command into a sandbox, in a large repository and many at once. */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors, environmentOf } from "../support/actors.js";
import { type GitProject, makeGitProject, secrets } from "../support/git-project.js";
import { outlastClockTick } from "../support/project.js";
import { type CliResult, resultOf, runCli } from "../support/run-cli.js";

/** What Claude Code runs after it has asked the hook. */
async function throughHook(actor: Actor, project: GitProject, command: string): Promise<CliResult> {
  const input = {
    hook_event_name: "PreToolUse",
    session_id: "s",
    cwd: project.path,
    permission_mode: "acceptEdits",
    tool_name: "Bash",
    tool_input: { command },
  };
  const env = { CLAUDE_PROJECT_DIR: project.path };
  const answer = await runCli(actor, ["hook", "claude"], { cwd: project.path, stdin: JSON.stringify(input), env });
  expect(answer).toMatchObject({ status: 0 });
  const routed: string = JSON.parse(answer.stdout).hookSpecificOutput.updatedInput.command;
  expect(routed).toContain("agentkernel");
  const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
  const shell = spawn("sh", ["-c", routed], {
    ...identity,
    cwd: project.path,
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin", ...environmentOf(actor) },
    stdio: ["pipe", "pipe", "pipe"],
  });
  return await resultOf(shell, {});
}

function expectSound(project: GitProject): void {
  project.git("fsck", "--strict");
  expect(project.secretsIn("main")).toEqual(secrets);
  expect(project.secretsOnDisk()).toEqual(secrets);
}

const FILES = 50_000;
const CALLERS = 16;

describe(`a repository of ${FILES} files, through the hook`, () => {
  const [actor] = actors;
  it.skipIf(actor === undefined)("commits, a merge, a rebase, a stash and a switch lose nothing", async () => {
    if (actor === undefined) return;
    const project = makeGitProject(actor);
    // Git would tidy up in the background after a commit of so many objects.
    project.git("config", "gc.auto", "0");
    for (let n = 0; n < FILES; n += 1) {
      const directory = join(project.path, `src/d${n % 250}`);
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, `f${n}.txt`), `${n}\n`);
    }
    project.git("add", "--all", "--force");
    project.git("commit", "--quiet", "--message=large");
    const tracked = project.git("ls-tree", "-r", "--name-only", "HEAD").split("\n");
    const commands = [
      "echo two >> code.txt && git add -A && git commit -qm two && git status --short",
      `git checkout -qb topic HEAD~ && echo t >> src/d50/f50.txt && git commit -qam topic && git checkout -q main &&
       git merge -q --no-edit topic && git checkout -q topic && echo r > r.txt && git add -A && git commit -qm rebased &&
       git rebase -q main && git switch -q main && git merge -q --ff-only topic`,
      "echo s >> src/d7/f7.txt && echo n > n.txt && git stash -qu && git stash pop -q && git add -A && git commit -qm last",
    ];
    for (const command of commands) {
      outlastClockTick();
      const result = await throughHook(actor, project, command);
      expect(result, result.stderr).toMatchObject({ status: 0, stdout: "" });
      expect(result.stderr).not.toContain("git: ");
      expect(project.git("status", "--short")).toBe("");
    }
    expect(project.git("log", "--format=%s", "--first-parent").trim().split("\n")[0]).toBe("last");
    expect(project.git("log", "--format=%s")).toMatch(/last\nrebased\n[\s\S]*topic\n[\s\S]*two\n/);
    const still = new Set(project.git("ls-tree", "-r", "--name-only", "HEAD").split("\n"));
    expect(tracked.filter((name) => !still.has(name))).toEqual([]);
    expectSound(project);
  });
});

describe.each(actors)(`${CALLERS} callers of the hook at once, as $name`, (actor) => {
  it("no commit is lost, the index is sound, and who came second is told", async () => {
    const project = makeGitProject(actor);
    const numbers = Array.from({ length: CALLERS }, (_, n) => n);
    const results = await Promise.all(
      numbers.map((n) =>
        throughHook(
          actor,
          project,
          `echo ${n} > file${n}.txt && git add -A && git commit -qm "by ${n}" && git rev-parse HEAD`,
        ),
      ),
    );
    const log = project.git("log", "--format=%s").trim().split("\n");
    const landed = numbers.filter((n) => log.includes(`by ${n}`));
    expect(landed.length).toBeGreaterThan(0);
    expectSound(project);
    for (const n of numbers) {
      const { status, stdout, stderr } = results[n] as CliResult;
      expect(status, stderr).toBe(0);
      // Each file is there, and each commit is in the repository, on a branch or for a cherry-pick.
      expect(readFileSync(join(project.path, `file${n}.txt`), "utf8")).toBe(`${n}\n`);
      expect(project.git("cat-file", "-t", stdout.trim())).toBe("commit\n");
      if (!landed.includes(n))
        expect(stderr).toMatch(
          /changed on the host meanwhile: .*\.git\/refs\/heads\/main; the sandbox's version is kept/,
        );
    }
    expect(existsSync(join(project.path, ".git/index.lock"))).toBe(false);
    // What did not land can be taken over as it is told.
    const index = project.git("diff", "--cached", "--name-status");
    expect(index).toBe("");
    writeFileSync(join(project.path, "code.txt"), "of the host\n");
    project.git("commit", "--quiet", "--all", "--message=of the host");
    expectSound(project);
  });
});
