import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resolve } from "../policy/resolve.js";
import { gitPartsFor, gitVariables } from "./git-files.js";

let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "ak-git-files-")));
});
afterEach(() => rmSync(base, { recursive: true }));

const { policy } = resolve({});

function repository(path: string): void {
  const env = { PATH: process.env.PATH ?? "", HOME: base, GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync("git", ["init", "--quiet", path], { env });
}

describe("a caller that calls again gets", () => {
  it("the repository around its project as it is now", async () => {
    const [top, project] = [join(base, "top"), join(base, "top/part")];
    mkdirSync(project, { recursive: true });
    const env = Object.freeze({ HOME: join(base, "home") });
    const seen = () => [gitPartsFor(policy, env, project), gitVariables(policy, env, project)];
    // A caller comes by an event, as a change of a watched path does.
    const called = () => new Promise((resolve) => setTimeout(resolve, 1));
    const nothing = [{}, {}];
    const around = [
      { repository: { directory: join(top, ".git"), own: "", part: "part", files: [] } },
      { GIT_DISCOVERY_ACROSS_FILESYSTEM: "1" },
    ];
    // More often than it takes until the paths are watched.
    for (let at = 0; at < 20; at++) expect(seen()).toEqual(nothing);
    repository(top);
    await called();
    for (let at = 0; at < 20; at++) expect(seen()).toEqual(around);
    repository(project);
    await called();
    for (let at = 0; at < 20; at++) expect(seen()).toEqual(nothing);
    rmSync(join(project, ".git"), { recursive: true });
    await called();
    expect(seen()).toEqual(around);
    writeFileSync(join(top, ".git/config"), `[core]\n\tworktree = ${base}\n`);
    await called();
    expect(seen()).toEqual(nothing);
  });

  it("the same variables as the same value", () => {
    const env = Object.freeze({ HOME: base });
    const project = join(base, "project");
    writeFileSync(join(base, ".gitconfig"), "[user]\n\tname = Ada\n");
    expect(gitVariables(policy, env, project)).toEqual({ GIT_CONFIG_SYSTEM: expect.any(String) });
    expect(gitVariables(policy, env, project)).toBe(gitVariables(policy, env, project));
  });
});
