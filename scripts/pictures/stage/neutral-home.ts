/**
 * The machine as a picture shows it: a home folder `/home/dev` with a small project in it, and the programs on PATH. It
 * covers `/home` in the mount namespace that this process has for itself, so nothing of the real one can be on a picture,
 * and nothing stays.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

export const HOME = "/home/dev";
export const PROJECT = "/home/dev/shop";
const PROGRAMS = "/home/dev/.local/bin";

export interface Belongings {
  /** Where the built command line lies. */
  readonly dist: string;
  /** Programs of the real agents by name, and the folder that has all of them. */
  readonly agents: string;
  readonly programs: Readonly<Record<string, string>>;
}

const projectFiles: Readonly<Record<string, string>> = {
  "package.json": '{\n  "name": "shop",\n  "version": "1.0.0",\n  "scripts": { "test": "node test.js" }\n}\n',
  "price.js": "exports.total = (items) => items.reduce((sum, { price }) => sum + price, 0);\n",
  "test.js": [
    'const { equal } = require("node:assert");',
    'const { total } = require("./price.js");',
    "equal(total([]), 0);",
    "equal(total([{ price: 2 }, { price: 3 }]), 5);",
    'console.log("2 checks passed");',
    "",
  ].join("\n"),
  ".env": "API_KEY=not-a-real-key\n",
};

const homeFiles: Readonly<Record<string, string>> = { ".ssh/id_ed25519": "not a real key\n" };

export function makeHome({ dist, agents, programs }: Belongings): void {
  if (process.execPath.startsWith("/home/")) throw new Error(`${process.execPath}: Node must not be below /home here`);
  // Filled elsewhere first: the checkout may itself be below /home.
  mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/mnt");
  const inside = (path: string): string => join("/mnt", relative("/home", path));
  const binds = [
    [dist, join(HOME, ".local/lib/agentkernel")],
    [agents, join(HOME, ".local/lib/agents")],
  ] as const;
  for (const [from, to] of binds) {
    mkdirSync(inside(to), { recursive: true });
    mount("--bind", from, inside(to));
  }
  mount("--move", "/mnt", "/home");
  for (const [name, text] of Object.entries(homeFiles)) write(join(HOME, name), text);
  for (const [name, text] of Object.entries(projectFiles)) write(join(PROJECT, name), text);
  mkdirSync(PROGRAMS, { recursive: true });
  for (const [name, path] of Object.entries(programs)) {
    symlinkSync(join(HOME, ".local/lib/agents", relative(agents, path)), join(PROGRAMS, name));
  }
  symlinkSync(process.execPath, join(PROGRAMS, "node"));
  const own = join(PROGRAMS, "agentkernel");
  write(own, `#!/bin/sh\nexec ${process.execPath} ${HOME}/.local/lib/agentkernel/agentkernel.js "$@"\n`);
  chmodSync(own, 0o755);
}

export function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Nothing of the caller's, and never a registry. */
export function environment(more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return {
    PATH: `${PROGRAMS}:/usr/local/bin:/usr/bin:/bin`,
    HOME,
    LANG: "C.UTF-8",
    TERM: "tmux-256color",
    COLORTERM: "truecolor",
    AGENTKERNEL_IMAGE: "host",
    AGENTKERNEL_PULL: "never",
    ...more,
  };
}

function mount(...words: readonly string[]): void {
  execFileSync("mount", [...words]);
}
