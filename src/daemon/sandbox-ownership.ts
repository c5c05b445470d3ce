/**
 * Which daemon owns the sandboxes that stay. Daemons of one user that meet their clients in different folders are
 * possible (another XDG_RUNTIME_DIR); the sandboxes lie in one, and two owners would take them from each other.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { type Ownership, takeOwnership } from "./ownership.js";

/** No sandbox can have this name. */
const FOLDER = ".daemon";

/** Null where another daemon has them. */
export function takeSandboxes(sandboxes: string): Ownership | null {
  const folder = join(sandboxes, FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return takeOwnership(folder);
}

export function ownedByAnother(): AgentKernelError {
  return new AgentKernelError("conflict", "another daemon of yours owns the sandboxes that stay", {
    hint: "it listens in another folder (XDG_RUNTIME_DIR); use it, or end it and start this one again",
  });
}
