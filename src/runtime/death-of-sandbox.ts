/** Explains why a sandbox ended by itself, as far as its end tells. */
import type { SandboxEnd } from "../core/backend.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import type { Policy } from "../core/policy.js";

/** The error to tell: with the reason where one kernel has the memory of all processes, and reached the limit. */
export function explainedDeath(error: unknown, end: SandboxEnd, { resources }: Policy): unknown {
  if (!isAgentKernelError(error) || error.code !== "sandbox_died" || end.oomKills === 0) return error;
  const what = `the memory limit of ${resources.memoryMiB} MiB was reached, which ended the whole sandbox`;
  return new AgentKernelError("sandbox_died", what, {
    hint: ({ name }) => `raise it with ${name("resources.memoryMiB")}`,
    cause: error,
  });
}
