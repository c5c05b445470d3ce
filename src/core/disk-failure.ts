/** Faults of the disk under one of our own folders, in words for the user. */
import { AgentKernelError, isAgentKernelError } from "./errors.js";

const FULL: readonly unknown[] = ["ENOSPC", "EDQUOT"];

/** `what` could not be done in `folder`. An error that says nothing of a disk stays as it is. */
export function diskFailure(what: string, folder: string, error: unknown): unknown {
  if (isAgentKernelError(error) || !(error instanceof Error) || !("code" in error)) return error;
  if (typeof error.code !== "string") return error;
  if (FULL.includes(error.code)) {
    return new AgentKernelError("resource_exhausted", `the disk of ${folder} is full: ${what}`, {
      hint: "make room on it",
      cause: error,
    });
  }
  return new AgentKernelError("sandbox_start_failed", `${what}: ${folder} cannot be used (${error.code})`, {
    hint: "check that the folder belongs to you and can be written",
    cause: error,
  });
}
