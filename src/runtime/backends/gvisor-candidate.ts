/** gVisor: its platform is the first on which a sandbox really runs. */
import { statSync } from "node:fs";
import { gvisorBackend, gvisorLacks } from "../../backends/gvisor/index.js";
import { type GvisorPlatform, gvisorPlatforms, runscPath, runscVersion } from "../../backends/gvisor/runsc.js";
import { AgentKernelError } from "../../core/errors.js";
import { findProgram } from "../../core/find-program.js";
import { jailPrograms } from "../open-backend.js";
import { bootAndRun } from "./boot-proof.js";
import type { Candidate } from "./candidates.js";
import { failing, type Proof, working } from "./proof.js";

/** One that is there and does not work may also hang. */
const PLATFORM_PATIENCE_MS = 5_000;
const INSTALL = "install gVisor's runsc (Debian: apt-get install runsc), then look at `agentkernel doctor`";
/** Programs of the GNU project ask for files in a way that versions of gVisor before 2023 refuse. */
const NEWER = "some programs of GNU (ls -l, stat) fail on this version of gVisor: install a newer one";

export const gvisorCandidate: Candidate = {
  lacks: gvisorLacks,

  identity({ env }) {
    const program = runscPath(env);
    if (program === null) return null;
    const { dev, ino, size, mtimeMs } = statSync(program);
    return [program, dev, ino, size, mtimeMs].join(":");
  },

  async prove(host, signal) {
    if (process.platform !== "linux") return failing("needs Linux", null);
    const program = runscPath(host.env);
    if (program === null) return failing("there is no runsc that could be started", INSTALL);
    const version = await runscVersion(program);
    const refused: string[] = [];
    for (const platform of gvisorPlatforms) {
      const backend = gvisorBackend(jailPrograms(host), { program, platform });
      const patience = AbortSignal.timeout(PLATFORM_PATIENCE_MS);
      const either = signal === undefined ? patience : AbortSignal.any([signal, patience]);
      try {
        const { ms } = await bootAndRun(backend, either);
        return working(`runsc ${version} by ${platform}, booted a sandbox in ${ms.toFixed(0)} ms`, {
          program,
          platform,
          version,
          ...(await remark(backend, either)),
        });
      } catch (error) {
        signal?.throwIfAborted();
        refused.push(`${platform}: ${firstLine(error)}`);
      }
    }
    return failing(`runsc ${version} runs no sandbox here (${refused.join("; ")})`, INSTALL);
  },

  open: (host, { facts }) => gvisorBackend(jailPrograms(host), runtimeOf(facts)),
};

function runtimeOf({ program, platform }: Proof["facts"]): { program: string; platform: GvisorPlatform } {
  const known = gvisorPlatforms.find((name) => name === platform);
  if (program === undefined || known === undefined) {
    throw new AgentKernelError("internal", "a proof of gvisor without its facts");
  }
  return { program, platform: known };
}

async function remark(backend: ReturnType<typeof gvisorBackend>, signal: AbortSignal): Promise<Proof["facts"]> {
  if (findProgram("stat", "/usr/bin:/bin") === null) return {};
  return await bootAndRun(backend, signal, ["stat", "/"]).then(
    () => ({}),
    () => ({ remark: NEWER }),
  );
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0]?.slice(0, 200) ?? "";
}
