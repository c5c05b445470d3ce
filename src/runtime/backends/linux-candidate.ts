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
      const hint = isAgentKernelError(error) ? error.hint : undefined;
      return failing(error instanceof Error ? error.message : String(error), hint ?? null);
    }
  },
  open: openLinux,
};
