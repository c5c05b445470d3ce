/** Programs run directly on this machine, outside any sandbox, as an actor: what an attack is compared with. */
import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Actor } from "./actors.js";
import { testSettings } from "./test-settings.js";

interface OutsideResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function runOutside(
  actor: Actor,
  argv: readonly string[],
  options: { cwd?: string; stdin?: string } = {},
): OutsideResult {
  const [program = "", ...words] = argv;
  const result = spawnSync(program, words, {
    ...(process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {}),
    cwd: options.cwd ?? actor.home,
    input: options.stdin ?? "",
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: actor.home, LANG: "C.UTF-8", ...testSettings },
    encoding: "utf8",
  });
  if (result.error) throw result.error;
  return { status: result.status, stdout: result.stdout, stderr: result.stderr };
}

/**
 * A program that is `program` started by the actor, whoever starts it; descriptors and process id stay. So a test
 * that runs as root can own a jail that runs as an ordinary user.
 */
export function startedBy(actor: Actor, program: string): string {
  if (process.getuid?.() === actor.uid) return program;
  const wrapper = join(actor.folder("as"), basename(program));
  const words = [`--reuid=${actor.uid}`, `--regid=${actor.gid}`, "--clear-groups", program];
  writeFileSync(wrapper, `#!/bin/sh\nexec setpriv ${words.join(" ")} "$@"\n`);
  chmodSync(wrapper, 0o755);
  return wrapper;
}
