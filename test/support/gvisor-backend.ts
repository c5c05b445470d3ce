/** The gvisor backend as an actor has it, by the platform that was proven here. */
import { gvisorBackend } from "../../src/backends/gvisor/index.js";
import { type GvisorPlatform, gvisorPlatforms, runscPath } from "../../src/backends/gvisor/runsc.js";
import type { Backend } from "../../src/core/backend.js";
import { findProgram } from "../../src/core/find-program.js";
import { bootAndRun } from "../../src/runtime/backends/boot-proof.js";
import type { Actor } from "./actors.js";
import { linuxProgramsOf } from "./linux-backend.js";

interface ProvenGvisor {
  readonly program: string;
  readonly platform: GvisorPlatform;
}

/** Null where nobody could install it: said loudly. Where `scripts/setup-tools.sh` can, its absence is a failure. */
export async function provenGvisor(actor: Actor): Promise<ProvenGvisor | null> {
  const program = runscPath(process.env);
  const reasons: string[] = [];
  if (program === null) reasons.push("there is no runsc; scripts/setup-tools.sh installs it");
  for (const platform of program === null ? [] : gvisorPlatforms) {
    const gvisor = { program: program ?? "", platform };
    try {
      await bootAndRun(gvisorBackend(linuxProgramsOf(actor), gvisor), AbortSignal.timeout(20_000));
      return gvisor;
    } catch (error) {
      reasons.push(`${platform}: ${error instanceof Error ? error.message : error}`);
    }
  }
  const message = `gvisor does not work here as ${actor.name}: ${reasons.join("; ")}`;
  if (process.env.CI !== undefined || findProgram("apt-get", process.env.PATH ?? "") !== null) throw new Error(message);
  console.warn(`SKIPPED: ${message}`);
  return null;
}

export function gvisorBackendOf(actor: Actor, gvisor: ProvenGvisor): Backend {
  return gvisorBackend(linuxProgramsOf(actor), gvisor);
}
