/** The linux backend, which needs no engine. */
import { linuxLacks } from "../../backends/linux/index.js";
import { isAgentKernelError } from "../../core/errors.js";
import { openLinux } from "../open-backend.js";
import { bootAndRun } from "./boot-proof.js";
import type { Candidate } from "./candidates.js";
import { failing, working } from "./proof.js";

export const linuxCandidate: Candidate = {
  lacks: linuxLacks,
  identity: () => "",
  async prove(host, signal) {
    if (process.platform !== "linux") return failing("needs Linux", null);
    try {
      const { ms } = await bootAndRun(openLinux(host), signal);
      return working(`booted a sandbox in ${ms.toFixed(0)} ms`);
    } catch (error) {
      // What was not to be had for the moment, such as one more open file, says nothing of the machine.
      if (!isAgentKernelError(error) || error.code !== "backend_unavailable") throw error;
      return failing(error.message, error.hint ?? null);
    }
  },
  open: openLinux,
};
