/** The command line on a real terminal in a world of the test's own, driven as a person would. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { Actor } from "./actors.js";
import type { NetworkWorld } from "./network-world.js";
import { repository } from "./repository.js";
import { testSettings } from "./test-settings.js";

type Step = { readonly expect: string } | { readonly type: string };

interface Session {
  readonly output: string;
  readonly status: number;
  /** The terminal's settings are what they were before. */
  readonly restored: boolean;
}

export async function onTerminal(
  world: NetworkWorld,
  actor: Actor,
  words: readonly string[],
  steps: readonly Step[],
): Promise<Session> {
  const program = join(actor.folder("driver"), "terminal-session.py");
  copyFileSync(join(repository, "test/e2e/terminal-session.py"), program);
  const job = {
    argv: [process.execPath, join(actor.dist, "agentkernel.js"), ...words],
    cwd: actor.folder(),
    env: { PATH: "/usr/bin:/bin", HOME: actor.home, TERM: "xterm", ...testSettings },
    rows: 24,
    cols: 200,
    steps,
  };
  const result = await world.runOutside(actor, ["/usr/bin/python3", program], { stdin: JSON.stringify(job) });
  if (result.status !== 0) throw new Error(result.stderr);
  return JSON.parse(result.stdout) as Session;
}
