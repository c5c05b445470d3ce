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
    expect(repositoryAround(join(base, "tree"), null)).toEqual({
      directory: join(main, ".git"),
      own: "worktrees/tree",
      part: "",
      files: [],
    });
  });

  it("of a submodule is its own, in the one around it", () => {
    const main = repository("main");
    const library = repository("library");
    git(main, "submodule", "--quiet", "add", library, "lib");
    const expected = { directory: join(main, ".git/modules/lib"), own: "", part: "", files: [] };
    expect(repositoryAround(join(main, "lib"), null)).toEqual(expected);
    // A part of it is found through the file that names it.
    mkdirSync(join(main, "lib/part"));
    const files = [join(main, "lib/.git")];
    expect(repositoryAround(join(main, "lib/part"), null)).toEqual({ ...expected, part: "part", files });
    // It is not the repository of any other directory.
    writeFileSync(join(base, ".git"), `gitdir: ${join(main, ".git/modules/lib")}\n`);
    expect(repositoryAround(base, null)).toBeNull();
  });

  it("of a directory is the next one above it, but not the home directory's", () => {
    const main = repository("main");
    const part = join(main, "a/b");
    mkdirSync(part, { recursive: true });
    const expected = { directory: join(main, ".git"), own: "", part: "a/b", files: [] };
    expect(repositoryAround(part, null)).toEqual(expected);
    expect(repositoryAround(part, base)).toEqual(expected);
    expect(repositoryAround(part, main)).toBeNull();
    expect(repositoryAround(part, join(main, "home"))).toBeNull();
    git(main, "config", "core.worktree", base);
    expect(repositoryAround(part, null)).toBeNull();
  });

  it("is none where the project has its own, or no repository", () => {
    expect(repositoryAround(repository("main"), null)).toBeNull();
    mkdirSync(join(base, "plain"));
    expect(repositoryAround(join(base, "plain"), null)).toBeNull();
    expect(repositoryAround(join(base, "not-there"), null)).toBeNull();
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
      expect(repositoryAround(planted, null), named).toBeNull();
    }
    // A directory of the project's own that pretends to be a part of another repository.
    const own = join(planted, "worktrees", "x");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(planted, ".git"), `gitdir: ${own}\n`);
    writeFileSync(join(own, "gitdir"), join(planted, ".git"));
    writeFileSync(join(own, "commondir"), `${main}/.git\n`);
    expect(repositoryAround(planted, null)).toBeNull();
  });
});
