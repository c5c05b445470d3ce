/** The first minute with agentkernel, for the README: typed into a shell, nothing left out. */
import type { Move, Scene } from "./index.js";

/** As bash writes it; shown, it is a dollar sign. */
const PROMPT = "\\[\\e[1;32m\\]$\\[\\e[0m\\] ";

const lines = [
  `agentkernel run python3 -c "print('hello')"`,
  "ls -A; agentkernel run ls -A",
  "agentkernel run --allow-domain pypi.org curl -sS https://example.com",
  "agentkernel create --no-network box",
  "agentkernel exec box sh -c 'echo 2.0 > version; rm price.js; ls'",
  "agentkernel diff box",
  "ls; agentkernel list",
];

/** Each line waits for the prompt that follows the line before it. */
const moves: readonly Move[] = lines.map((line, at) => ({
  after: new RegExp(`^(?:(?:.*\\n)*?\\$ .+\\n){${at}}(?:.*\\n)*?\\$$`),
  type: line,
  keys: ["Enter"],
}));

export const firstRun: Scene = {
  name: "first-run",
  agent: null,
  path: "docs/pictures/first-run.svg",
  title: "agentkernel",
  description:
    "A shell: hello from a sandbox; the project without its .env file; a blocked destination; what a kept sandbox changed.",
  columns: 100,
  rows: 30,
  hasBlanks: true,
  preparations: [["agentkernel", "run", "true"]],
  files: {},
  argv: ["bash", "--norc", "--noprofile"],
  env: { PS1: PROMPT },
  model: null,
  moves,
  end: new RegExp(`^(?:(?:.*\\n)*?\\$ .+\\n){${lines.length}}(?:.*\\n)*?\\$$`),
  afterwards: [
    ["agentkernel", "remove", "--force", "box"],
    ["agentkernel", "daemon", "stop"],
  ],
};
