/** Apple's containers. Their images are their own, so that nothing could be booted before a run: the program is asked. */
import { statSync } from "node:fs";
import { containerPath } from "../../backends/apple/cli.js";
import { appleBackend, appleLacks } from "../../backends/apple/index.js";
import { type Machine, probeApple, thisMachine } from "../../backends/apple/probe.js";
import { AgentKernelError } from "../../core/errors.js";
import { foreignGuestFolder } from "../../core/native-binary.js";
import { engineFolder } from "../../core/state-folders.js";
import type { RuntimeHost } from "../open-backend.js";
import type { Candidate } from "./candidates.js";
import { failing, working } from "./proof.js";

const UNVERIFIED = "not yet verified on a Mac: made from Apple's documentation";

export function appleCandidateOn(machine: Machine): Candidate {
  return {
    lacks: appleLacks,
    identity({ env }) {
      const program = containerPath(env);
      if (program === null) return null;
      const { dev, ino, size, mtimeMs } = statSync(program);
      return [program, dev, ino, size, mtimeMs].join(":");
    },
    async prove({ env }, signal) {
      const program = containerPath(env);
      const found = await probeApple(machine, program, guestFolder(env), signal);
      if (!found.works) return failing(`${found.reason} (${UNVERIFIED})`, found.nextStep);
      return working(`container ${found.version} answers`, { program: program ?? "", remark: UNVERIFIED });
    },
    open({ env, homeDir }, { facts: { program } }) {
      const folder = guestFolder(env);
      if (program === undefined || folder === null) {
        throw new AgentKernelError("internal", "a proof of apple without its facts");
      }
      return appleBackend({ program, guestFolder: folder, folder: engineFolder(env, homeDir) });
    },
  };
}

export const appleCandidate: Candidate = appleCandidateOn(thisMachine);

/** The guest is a program of Linux, whatever this machine is. */
function guestFolder({ AGENTKERNEL_LINUX_GUEST: named = "" }: RuntimeHost["env"]): string | null {
  return named === "" ? foreignGuestFolder("linux-arm64") : named;
}
