/** How sandboxes are called. A name is part of paths, of host names and of command lines, so little is allowed. */
import { AgentKernelError } from "../../core/errors.js";

const NAME = /^[a-z0-9][a-z0-9_.-]{0,62}$/;

export function isSandboxName(text: string): boolean {
  return NAME.test(text) && !text.includes("..");
}

/** The same text, or a clear error. */
export function checkSandboxName(text: unknown): string {
  if (typeof text === "string" && isSandboxName(text)) return text;
  const shown = typeof text === "string" ? JSON.stringify(text.slice(0, 80)) : `a ${typeof text}`;
  throw new AgentKernelError("invalid_argument", `name: ${shown} cannot name a sandbox`, {
    hint: "a name has 1 to 63 lower-case letters, digits, dashes, underscores and single dots, and starts with a letter or digit",
    details: { field: "name" },
  });
}
