/** A project that is a real repository, with tracked files that a sandbox does not see. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Actor } from "./actors.js";
import { makeProject, outlastClockTick } from "./project.js";

/** Hidden by name today, and by what they hold. */
export const secrets: Readonly<Record<string, string>> = {
  ".env": "API_KEY=sk-live-0123456789abcdef0123456789abcdef\n",
  "deploy/id_rsa":
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n-----END OPENSSH PRIVATE KEY-----\n",
};

export interface GitProject {
  readonly path: string;
  /** Git of the host, as the project's owner; what it prints. */
  git(...words: string[]): string;
  /** The hidden files as a commit has them; null where it has none. */
  secretsIn(revision: string): Readonly<Record<string, string | null>>;
  /** The hidden files in the working tree. */
  secretsOnDisk(): Readonly<Record<string, string>>;
}

export function makeGitProject(actor: Actor, files: Readonly<Record<string, string>> = {}): GitProject {
  const { path } = makeProject(actor, { "code.txt": "one\n", "deploy/run.sh": "true\n", ...secrets, ...files });
  const git = (...words: string[]) => gitAs(actor, path, words);
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.com");
  git("add", "--all", "--force");
  git("commit", "--quiet", "--message=first");
  outlastClockTick();
  const secretsIn = (revision: string) => {
    const held = git("ls-tree", "-r", "--name-only", revision).split("\n");
    const text = (name: string) => (held.includes(name) ? git("show", `${revision}:${name}`) : null);
    return Object.fromEntries(Object.keys(secrets).map((name) => [name, text(name)]));
  };
  const secretsOnDisk = () =>
    Object.fromEntries(Object.keys(secrets).map((name) => [name, readFileSync(join(path, name), "utf8")]));
  return { path, git, secretsIn, secretsOnDisk };
}

export function gitAs(actor: Actor, cwd: string, words: readonly string[]): string {
  const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
  const env = {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    HOME: actor.home,
    LANG: "C.UTF-8",
    GIT_CONFIG_NOSYSTEM: "1",
  };
  return execFileSync("git", words, { ...identity, cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
