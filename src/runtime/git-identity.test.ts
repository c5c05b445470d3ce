import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { configText, gitIdentity } from "./git-identity.js";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "ak-identity-"));
});
afterEach(() => rmSync(home, { recursive: true }));

function put(name: string, text: string): void {
  mkdirSync(dirname(join(home, name)), { recursive: true });
  writeFileSync(join(home, name), text);
}

/** Asks git itself about a repository there. */
function byGit(repository: string): { name: string; email: string } {
  const env = { PATH: process.env.PATH ?? "", HOME: home, GIT_CONFIG_NOSYSTEM: "1" };
  mkdirSync(repository, { recursive: true });
  execFileSync("git", ["init", "--quiet"], { cwd: repository, env });
  const get = (key: string) => execFileSync("git", ["config", key], { cwd: repository, env, encoding: "utf8" }).trim();
  return { name: get("user.name"), email: get("user.email") };
}

const files: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ["plain", { ".gitconfig": "[user]\n\tname = Ada Lovelace\n\temail = ada@example.com\n" }],
  [
    "quotes, comments, case and one line",
    { ".gitconfig": '[USER] Name = "Ada \\"L\\" # not a comment" ; a comment\n[user]\nEMAIL=ada@example.com # x\n' },
  ],
  [
    "two files, of which the second wins",
    {
      ".config/git/config": "[user]\n\tname = First\n\temail = first@example.com\n",
      ".gitconfig": '[user "x"]\n\tname = no\n[core]\n\tname = no\n[user]\n\tname = Ada\n',
    },
  ],
  [
    "includes, also on the condition of a place",
    {
      ".gitconfig":
        '[include]\n\tpath = more.cfg\n[includeIf "gitdir:~/clients/"]\n\tpath = ~/clients.cfg\n[includeIf "gitdir:~/other/"]\n\tpath = ~/other.cfg\n',
      "more.cfg": "[user]\n\tname = Ada\n\temail = home@example.com\n",
      "clients.cfg": "[user]\n\temail = clients@example.com\n",
      "other.cfg": "[user]\n\temail = other@example.com\n",
    },
  ],
];

describe("who the user is, for git", () => {
  it.each(files)("%s: as git says", (_, given) => {
    for (const [name, text] of Object.entries(given)) put(name, text);
    const folder = join(home, "clients", "project");
    expect(gitIdentity({ HOME: home }, folder)).toEqual(byGit(folder));
  });

  it("for those who call again too, as the files are then", () => {
    const env = Object.freeze({ HOME: home });
    const name = () => gitIdentity(env, home)?.name;
    expect(name()).toBeUndefined();
    put(".gitconfig", "[user]\n\tname = Ada\n");
    expect([name(), name()]).toEqual(["Ada", "Ada"]);
    put(".gitconfig", "[include]\n\tpath = more.cfg\n");
    put("more.cfg", "[user]\n\tname = Eve\n");
    expect(name()).toBe("Eve");
    rmSync(join(home, "more.cfg"));
    expect(name()).toBeUndefined();
  });

  it("nobody, where no file says", () => {
    expect(gitIdentity({ HOME: home }, home)).toBeNull();
    expect(gitIdentity({}, home)).toBeNull();
    put(".gitconfig", "[user]\n\tsigningkey = X\n[credential]\n\thelper = store\n");
    expect(gitIdentity({ HOME: home }, home)).toBeNull();
  });

  it("git reads back what is written for it, and nothing else of the user's is in it", () => {
    const identity = { name: 'A "q" \\ b; #\tc', email: "ada@example.com" };
    put("written", configText(identity, false));
    const get = (key: string) =>
      execFileSync("git", ["config", "--file", join(home, "written"), "--null", key], { encoding: "utf8" });
    expect(get("user.name")).toBe(`${identity.name}\0`);
    expect(get("user.email")).toBe(`${identity.email}\0`);
    put(".gitconfig", "[user]\n\tname = A\n\tsigningkey = K\n[credential]\n\thelper = store\n");
    const read = gitIdentity({ HOME: home }, null);
    expect(read).toEqual({ name: "A", email: null });
  });
});
