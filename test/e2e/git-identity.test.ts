/** Who commits in a sandbox, and what of the repository's configuration it sees. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { gitAs } from "../support/git-project.js";
import { makeProject, outlastClockTick } from "../support/project.js";
import { runIn } from "../support/run-cli.js";

const configuration = `[user]
	name = Ada Lovelace
	email = ada@example.com
	signingkey = ABCDEF
[credential]
	helper = store
[http "https://example.com/"]
	extraheader = AUTHORIZATION: basic c2VjcmV0LXNlY3JldA==
`;

function repository(actor: Actor): { path: string; home: string; git: (...words: string[]) => string } {
  const { path } = makeProject(actor, { code: "one\n" });
  const home = makeProject(actor, { ".gitconfig": configuration }).path;
  const git = (...words: string[]) => gitAs(actor, path, words);
  git("init", "--quiet", "--initial-branch=main");
  outlastClockTick();
  return { path, home, git };
}

const commit = "git add -A; git commit -qm one; git log -1 --format='%an %ae %cn %ce'";

describe.each(actors)("as $name", (actor) => {
  it.each([["copy"], ["sync"], ["mount"]])("%s: a commit has the user's name and e-mail address", async (form) => {
    const { path, home, git } = repository(actor);
    const result = await runIn(actor, ["--workspace", form, "sh", "-ec", commit], { cwd: path, env: { HOME: home } });
    expect(result).toMatchObject({
      status: 0,
      stdout: "Ada Lovelace ada@example.com Ada Lovelace ada@example.com\n",
    });
    if (form !== "copy") expect(git("log", "-1", "--format=%an")).toBe("Ada Lovelace\n");
  });

  it("nothing else of the user's configuration is inside", async () => {
    const { path, home } = repository(actor);
    const script = "git config --list; cat /etc/agentkernel/gitconfig; ! test -e ~/.gitconfig";
    const { stdout, status } = await runIn(actor, ["sh", "-ec", script], { cwd: path, env: { HOME: home } });
    expect(status).toBe(0);
    expect(stdout).toContain("user.name=Ada Lovelace");
    expect(stdout).not.toMatch(/signingkey|credential|extraheader|AUTHORIZATION/i);
  });

  it("the repository's own identity counts before it, and one that is set inside too", async () => {
    const { path, home, git } = repository(actor);
    git("config", "user.name", "Of the repository");
    outlastClockTick();
    const author = (script: string) => runIn(actor, ["sh", "-ec", script], { cwd: path, env: { HOME: home } });
    expect((await author(commit)).stdout).toBe("Of the repository ada@example.com Of the repository ada@example.com\n");
    const elsewhere = `cd /tmp; git init -q x; cd x; touch a; git config user.name Test; ${commit}`;
    expect((await author(elsewhere)).stdout).toBe("Test ada@example.com Test ada@example.com\n");
    const global = `git config --global user.email agent@example.com; ${elsewhere}`;
    expect((await author(global)).stdout).toBe("Test agent@example.com Test agent@example.com\n");
  });

  it("without a project, or where the user has none, no identity is passed on", async () => {
    const { path, home } = repository(actor);
    const show = ["sh", "-c", "cat /etc/agentkernel/gitconfig; git config user.name; echo end"];
    const none = await runIn(actor, ["--workspace", "none", ...show], { cwd: path, env: { HOME: home } });
    expect(none.stdout).toBe("end\n");
    expect((await runIn(actor, show, { cwd: path })).stdout).toBe("end\n");
  });

  it.each([["copy"], ["sync"]])(
    "%s: remotes are shown without a password, and git goes on to know them",
    async (form) => {
      const { path, git } = repository(actor);
      const secret = "pl4nted-p4ssw0rd-0f-a-rem0te";
      git("remote", "add", "origin", `https://me:${secret}@example.com/a.git`);
      git("config", "branch.main.remote", "origin");
      outlastClockTick();
      const before = readFileSync(join(path, ".git/config"), "utf8");
      const script = `git remote -v; git config branch.main.remote; grep -r ${secret} . ; git remote add other x; git status --short`;
      const { stdout } = await runIn(actor, ["--workspace", form, "sh", "-c", script], { cwd: path });
      expect(stdout).toBe(
        "origin\thttps://example.com/a.git (fetch)\norigin\thttps://example.com/a.git (push)\norigin\n?? code\n",
      );
      expect(readFileSync(join(path, ".git/config"), "utf8")).toBe(before);
    },
  );

  it("a configuration with a token elsewhere than in an address is hidden whole", async () => {
    const { path } = repository(actor);
    const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    writeFileSync(join(path, ".git/config"), `[github]\n\ttoken = ${token}\n`, { flag: "a" });
    outlastClockTick();
    const { stdout } = await runIn(actor, ["sh", "-c", "cat .git/config; ls .git/HEAD"], { cwd: path });
    expect(stdout).toBe(".git/HEAD\n");
  });
});
