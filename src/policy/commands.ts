/**
 * Which programs may be run by name. It is held against the first word of a command on the host, and is a
 * convenience that stops mistakes: a program that may run can start any other inside the sandbox.
 */
import { AgentKernelError } from "../core/errors.js";
import type { CommandRules } from "../core/policy.js";

const MAX_NAME_CHARACTERS = 255;

/** Why the value is not a base name of a program, or null. */
export function whyInvalidCommandName(value: unknown): string | null {
  if (typeof value !== "string") return "a name of a program is not a text";
  if (value === "" || value.length > MAX_NAME_CHARACTERS || /[\s/\p{Cc}]/u.test(value)) {
    return `"${value}" is not a base name of a program`;
  }
  return null;
}

/** Two layers that both say which programs may run both hold. */
export function allowedByBoth(
  lower: readonly string[] | null,
  higher: readonly string[] | null,
): readonly string[] | null {
  if (lower === null || higher === null) return lower ?? higher;
  return higher.filter((name) => lower.includes(name));
}

interface CommandOrigins {
  readonly "proc.commands.allow": string;
  readonly "proc.commands.deny": string;
}

/** `deny` wins. */
export function refuseUnlessAllowed(argv0: string, { allow, deny }: CommandRules, origins: CommandOrigins): void {
  const name = argv0.slice(argv0.lastIndexOf("/") + 1);
  if (deny.includes(name)) {
    throw new AgentKernelError("policy_denied", `the command ${name} is denied by ${origins["proc.commands.deny"]}`, {
      hint: "security.commands.deny lists what cannot be run",
    });
  }
  if (allow !== null && !allow.includes(name)) {
    throw new AgentKernelError(
      "policy_denied",
      `the command ${name} is not among those that ${origins["proc.commands.allow"]} allows`,
      {
        hint:
          allow.length === 0 ? "security.commands.allow is empty: nothing can be run" : `allowed: ${allow.join(", ")}`,
      },
    );
  }
}
