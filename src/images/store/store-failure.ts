/** Faults of the disk under the store, in words for the user. */
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";

export function storeFailure(what: string, root: string, error: unknown): AgentKernelError {
  if (isAgentKernelError(error)) return error;
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new AgentKernelError("resource_exhausted", `the disk of the image store ${root} is full`, {
      hint: "agentkernel images prune frees what no image needs",
      cause: error,
    });
  }
  const reason = code === null ? "" : ` (${code})`;
  return new AgentKernelError("internal", `the image store ${root} cannot ${what}${reason}`, {
    hint: "check that its folder belongs to you and can be written",
    cause: error,
  });
}
