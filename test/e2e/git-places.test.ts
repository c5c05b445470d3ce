/** Repositories that are not all in the project: worktrees. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { gitAs, makeGitProject, secrets } from "../support/git-project.js";
import { outlastClockTick } from "../support/project.js";
import { runIn } from "../support/run-cli.js";

function makeWorktree(actor: Actor): { path: string; git: (...words: string[]) => string; main: string } {
  const main = makeGitProject(actor);
  const path = join(actor.folder("trees"), "tree");
  main.git("worktree", "add", "--quiet", "-b", "side", path);
  outlastClockTick();
  return { path, main: main.path, git: (...words) => gitAs(actor, path, words) };
}

const look =
  "git log --format=%s; git branch --show-current; echo two >> code.txt; git diff --stat -- code.txt | tail -1";

describe.each(actors)("as $name", (actor) => {
  it.each([["copy"], ["sync"], ["mount"]])("%s: git knows the repository of a worktree", async (form) => {
    const { path } = makeWorktree(actor);
    const result = await runIn(actor, ["--workspace", form, "sh", "-ec", look], { cwd: path });
    expect(result).toMatchObject({ status: 0, stdout: "first\nside\n 1 file changed, 1 insertion(+)\n" });
  });

  it("copy: a commit in a worktree works, and stays inside", async () => {
    const { path, git } = makeWorktree(actor);
    const script = "echo two >> code.txt; git commit -qam two; git log -1 --format=%s";
    const result = await runIn(actor, ["sh", "-ec", script], { cwd: path });
    expect(result).toMatchObject({ status: 0, stdout: "two\n" });
    expect(git("log", "-1", "--format=%s")).toBe("first\n");
  });

  it.each([["sync"], ["mount"]])("%s: a commit in a worktree fails, and nothing is lost", async (form) => {
    const { path, git } = makeWorktree(actor);
    const script = "echo two >> code.txt; git add -A && git commit -qm two";
    const result = await runIn(actor, ["--workspace", form, "sh", "-c", script], { cwd: path });
    expect(result.status).toBe(128);
    expect(result.stderr).toContain("Read-only file system");
    expect(git("log", "-1", "--format=%s")).toBe("first\n");
    expect(git("status", "--short")).toBe(" M code.txt\n");
    for (const [name, text] of Object.entries(secrets)) expect(readFileSync(join(path, name), "utf8")).toBe(text);
  });

  it("a password of a remote is not shown in the repository of a worktree either", async () => {
    const { path, main } = makeWorktree(actor);
    const secret = "pl4nted-p4ssw0rd-0f-a-rem0te";
    gitAs(actor, main, ["remote", "add", "origin", `https://me:${secret}@example.com/a.git`]);
    outlastClockTick();
    const script = `git remote get-url origin; grep -rl ${secret} '${main}/.git'; true`;
    const { stdout } = await runIn(actor, ["sh", "-c", script], { cwd: path });
    expect(stdout).toBe("https://example.com/a.git\n");
  });
});
