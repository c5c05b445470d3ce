/** The linux backend as an actor has it: the test owns it, the jail runs as the actor. */
import { join } from "node:path";
import { linuxBackend } from "../../src/backends/linux/index.js";
import type { Backend } from "../../src/core/backend.js";
import type { Actor } from "./actors.js";
import { startedBy } from "./run-as.js";

export function journalOf(actor: Actor): string {
  return join(actor.home, ".local", "state", "agentkernel", "journal");
}

const jails = new Map<Actor, string>();

export function linuxProgramsOf(actor: Actor): Parameters<typeof linuxBackend>[0] {
  const native = join(actor.dist, "native");
  const jailBinary = jails.get(actor) ?? startedBy(actor, join(native, "ak-jail"));
  jails.set(actor, jailBinary);
  return { jailBinary, guestBinary: join(native, "ak-guest"), journalDir: journalOf(actor) };
}

export function linuxBackendOf(actor: Actor): Backend {
  return linuxBackend(linuxProgramsOf(actor));
}
