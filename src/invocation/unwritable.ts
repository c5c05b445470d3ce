/** The error of a standard stream that cannot be written, for another reason than that its reader has gone. */
import { AgentKernelError } from "../core/errors.js";

export function unwritable(fd: 1 | 2, code: string | undefined, cause?: unknown): AgentKernelError {
  const name = fd === 1 ? "standard output" : "standard error";
  const hint = `look where ${name} leads: a full disk, or a closed file`;
  return new AgentKernelError("internal", `${name} cannot be written (${code})`, { hint, cause });
}
