/** A backend on an engine of the tests' own, with one image for all of its sandboxes. */
import { join } from "node:path";
import { EngineClient } from "../../src/backends/engine/client.js";
import { Container } from "../../src/backends/engine/container.js";
import type { EngineBackendOptions } from "../../src/backends/engine/index.js";
import { readRecord } from "../../src/backends/engine/persistent/record.js";
import type { Backend, BootSpec, PersistentBackend } from "../../src/core/backend.js";
import type { Actor } from "./actors.js";

export function engineOptions(actor: Actor, env: Readonly<Record<string, string>>): EngineBackendOptions {
  const native = (name: string) => join(actor.dist, "native", name);
  return {
    programs: { entryBinary: native("ak-entry"), guestBinary: native("ak-guest") },
    env,
    folder: join(actor.home, ".local", "state", "agentkernel", "engine"),
  };
}

/** The contract asks for the host's own programs, which no engine can run. */
export function withImage(backend: Backend, id: string): Backend {
  const own = (spec: BootSpec): BootSpec => ({
    ...spec,
    image: { kind: "engine", engine: backend.name as "docker" | "podman", id },
  });
  const { kept } = backend;
  const keeps: { readonly kept?: PersistentBackend } = kept
    ? { kept: { ...kept, start: (spec, stateDir, signal) => kept.start(own(spec), stateDir, signal) } }
    : {};
  return { ...backend, boot: (spec, signal, onStream) => backend.boot(own(spec), signal, onStream), ...keeps };
}

/** On the machine that the tests run on, which is the engine's too. */
export async function guestPid(socketPath: string, stateDir: string): Promise<number> {
  const record = readRecord(stateDir);
  const state = record && (await new Container(new EngineClient(socketPath), record.id).inspect());
  if (!state?.isRunning) throw new Error(`nothing runs for ${stateDir}`);
  return state.pid;
}
