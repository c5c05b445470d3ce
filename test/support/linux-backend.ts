/** The linux backend as an actor has it: the test owns it, the jail runs as the actor. */
import { join } from "node:path";
import { linuxBackend } from "../../src/backends/linux/index.js";
import type { Backend } from "../../src/core/backend.js";
import type { Actor } from "./actors.js";
import { startedBy } from "./run-as.js";

export function journalOf(actor: Actor): string {
  return join(actor.home, ".local", "state", "agentkernel", "journal");
}

const started = new Map<string, string>();

function startedByActor(actor: Actor, name: string): string {
  const path = join(actor.dist, "native", name);
  const key = `${actor.name}:${path}`;
  const wrapper = started.get(key) ?? startedBy(actor, path);
  started.set(key, wrapper);
  return wrapper;
}

export function linuxProgramsOf(actor: Actor): Parameters<typeof linuxBackend>[0] {
  return {
    jailBinary: startedByActor(actor, "ak-jail"),
    changesBinary: startedByActor(actor, "ak-changes"),
    guestBinary: join(actor.dist, "native", "ak-guest"),
    journalDir: journalOf(actor),
  };
}

export function linuxBackendOf(actor: Actor): Backend {
  return linuxBackend(linuxProgramsOf(actor));
}
