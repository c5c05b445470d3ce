/**
 * A program of its own that starts a kept sandbox and a command in it, and passes the command's output on, until
 * somebody kills it. Its one argument is a JSON object (`OwnerOrder`).
 */
import { type EngineBackendOptions, engineBackend } from "../../src/backends/engine/index.js";
import { linuxBackend } from "../../src/backends/linux/index.js";
import type { BootSpec, PersistentBackend } from "../../src/core/backend.js";
import { GuestSession, KEPT_WINDOW_BYTES } from "../../src/guest/index.js";
import { type MachineParts, machinesFrom } from "./machines-from.js";

/** A backend on an engine, and the image of its sandboxes. */
interface EngineParts {
  readonly engine: "docker" | "podman";
  readonly options: EngineBackendOptions;
  readonly image: BootSpec["image"];
}

/** The microvm backend, and the image of its sandboxes. */
interface KeptMachineParts {
  readonly machine: MachineParts;
  readonly image: BootSpec["image"];
}

export interface OwnerOrder {
  readonly programs: Parameters<typeof linuxBackend>[0] | EngineParts | KeptMachineParts;
  readonly spec: BootSpec;
  readonly stateDir: string;
  readonly key: string;
  readonly script: string;
}

function start(
  programs: OwnerOrder["programs"],
  spec: BootSpec,
  stateDir: string,
): ReturnType<PersistentBackend["start"]> | undefined {
  if ("machine" in programs) {
    const { kept } = machinesFrom(programs.machine).backend;
    return kept?.start({ ...spec, image: programs.image }, stateDir);
  }
  if (!("engine" in programs)) return linuxBackend(programs).kept?.start(spec, stateDir);
  const { engine, options, image } = programs;
  return engineBackend(engine, options).kept?.start({ ...spec, image }, stateDir);
}

async function own({ programs, spec, stateDir, key, script }: OwnerOrder): Promise<void> {
  const sandbox = await start(programs, spec, stateDir);
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
