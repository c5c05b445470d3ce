import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { repositoryAround } from "./repository-around.js";

let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "ak-around-")));
});
afterEach(() => rmSync(base, { recursive: true }));

function git(cwd: string, ...words: string[]): void {
  const env = { PATH: process.env.PATH ?? "", HOME: base, GIT_CONFIG_NOSYSTEM: "1" };
  const identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"];
  execFileSync("git", [...identity, ...words], { cwd, env, stdio: "ignore" });
}

function repository(name: string): string {
  const path = join(base, name);
  mkdirSync(path);
  git(path, "init", "--quiet");
  git(path, "commit", "--quiet", "--allow-empty", "--message=one");
  return path;
}

describe("the repository around a project", () => {
  it("of a worktree is the directory that all worktrees share", () => {
    const main = repository("main");
    git(main, "worktree", "add", "--quiet", join(base, "tree"));
    expect(repositoryAround(join(base, "tree"))).toBe(join(main, ".git"));
  });

  it("is none where the project has its own, or no repository", () => {
    expect(repositoryAround(repository("main"))).toBeNull();
    mkdirSync(join(base, "plain"));
    expect(repositoryAround(join(base, "plain"))).toBeNull();
    expect(repositoryAround(join(base, "not-there"))).toBeNull();
  });

  it("is none that does not name the project, whatever the project says", () => {
    const main = repository("main");
    git(main, "worktree", "add", "--quiet", join(base, "tree"));
    const planted = join(base, "planted");
    mkdirSync(planted);
    const text = readFileSync(join(base, "tree/.git"), "utf8");
    for (const named of [
      text,
      `gitdir: ${main}/.git\n`,
      `gitdir: ${base}\n`,
      "gitdir: /etc\n",
      "gitdir: nowhere\n",
      "x\n",
    ]) {
      writeFileSync(join(planted, ".git"), named);
      expect(repositoryAround(planted), named).toBeNull();
    }
    // A directory of the project's own that pretends to be a part of another repository.
    const own = join(planted, "worktrees", "x");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(planted, ".git"), `gitdir: ${own}\n`);
    writeFileSync(join(own, "gitdir"), join(planted, ".git"));
    writeFileSync(join(own, "commondir"), `${main}/.git\n`);
    expect(repositoryAround(planted)).toBeNull();
  });
});
