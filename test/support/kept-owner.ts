/**
 * A program of its own that starts a kept sandbox and a command in it, and passes the command's output on, until
 * somebody kills it. Its one argument is a JSON object (`OwnerOrder`).
 */
import { linuxBackend } from "../../src/backends/linux/index.js";
import type { BootSpec } from "../../src/core/backend.js";
import { GuestSession, KEPT_WINDOW_BYTES } from "../../src/guest/index.js";

export interface OwnerOrder {
  readonly programs: Parameters<typeof linuxBackend>[0];
  readonly spec: BootSpec;
  readonly stateDir: string;
  readonly key: string;
  readonly script: string;
}

async function own({ programs, spec, stateDir, key, script }: OwnerOrder): Promise<void> {
  const sandbox = await linuxBackend(programs).kept?.start(spec, stateDir);
  if (sandbox === undefined) throw new Error("the backend keeps no sandboxes");
  const session = new GuestSession(await sandbox.connect(), { windowBytes: KEPT_WINDOW_BYTES });
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };
  const exec = await session.exec({ argv: ["sh", "-c", script], cwd: "/", env, stdin: true, key });
  for (const stream of [1, 2] as const) {
    exec.onOutput(stream, {
      write: (chunk, done) => {
        process.stdout.write(chunk, () => done());
      },
      end: () => {},
    });
  }
  // It never ends by itself, whatever becomes of the command.
  setInterval(() => {}, 1 << 30);
}

void own(JSON.parse(process.argv[2] ?? "") as OwnerOrder);
