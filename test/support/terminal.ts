/** agentkernel on a real terminal. */
import { spawnSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { type Actor, environmentOf, programOf } from "./actors.js";
import { repository } from "./repository.js";

export type Step =
  | { readonly expect: string }
  | { readonly type: string }
  | { readonly resize: readonly [number, number] }
  | { readonly signal: number }
  /** Of another process than agentkernel. */
  | { readonly kill: number };

interface Session {
  readonly output: string;
  readonly status: number;
  readonly restored: boolean;
}

const driver = join(repository, "test", "e2e", "terminal-session.py");

/** `run` on a real terminal, driven by terminal-session.py as a person would. */
export function onTerminal(actor: Actor, words: readonly string[], steps: readonly Step[]): Session {
  return verbOnTerminal(actor, ["run", "--no-network", ...words], steps);
}

/** Any verb, in a folder that is new unless it is named. */
export function verbOnTerminal(
  actor: Actor,
  words: readonly string[],
  steps: readonly Step[],
  cwd = actor.folder(),
): Session {
  const program = join(actor.folder("driver"), "terminal-session.py");
  copyFileSync(driver, program);
  const job = {
    argv: [...programOf(actor), ...words],
    cwd,
    env: { PATH: "/usr/bin:/bin", TERM: "xterm", ...environmentOf(actor) },
    rows: 24,
    cols: 80,
    steps,
  };
  const result = spawnSync("/usr/bin/python3", [program], {
    ...(process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {}),
    input: JSON.stringify(job),
    encoding: "utf8",
  });
  if (result.status !== 0) throw new Error(result.stderr);
  return JSON.parse(result.stdout) as Session;
}
