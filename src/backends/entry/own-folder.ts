/** A state folder, which is its owner's alone. */
import { statSync } from "node:fs";
import { AgentKernelError } from "../../core/errors.js";

/** What the sandbox changed in the project lies there, and whose it is. */
export function insistOnOwn(stateDir: string): void {
  const found = statSync(stateDir, { throwIfNoEntry: false });
  if (found === undefined || ((found.mode & 0o077) === 0 && found.uid === process.geteuid?.())) return;
  throw new AgentKernelError("internal", `${stateDir} must be the caller's own, with mode 0700`);
}
