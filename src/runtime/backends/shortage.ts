/** What was not to be had for the moment, such as one more open file or room on a disk, says nothing of a backend. */
import { isShortage } from "../../backends/linux/jail-start.js";
import { isAgentKernelError } from "../../core/errors.js";

const FULL_DISK: readonly string[] = ["ENOSPC", "EDQUOT"];

/** Also where it is only the reason of another error. */
export function isOfTheMoment(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (isAgentKernelError(error) && error.code === "resource_exhausted") return true;
  const code = "code" in error ? String(error.code) : "";
  return isShortage(code) || FULL_DISK.includes(code) || isOfTheMoment(error.cause);
}
