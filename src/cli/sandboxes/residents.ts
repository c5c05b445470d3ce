/** The user's sandboxes that stay, for a verb about them. They live in the daemon. */
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";
import type { Sandbox, Sandboxes } from "../../runtime/sandboxes/index.js";

export function sandboxesOf({ resident }: Pick<Invocation, "resident">): Sandboxes {
  if (resident !== null) return resident.sandboxes;
  throw new AgentKernelError("conflict", "sandboxes that stay need the daemon, and none of yours serves this", {
    hint: "start it: agentkernel daemon start",
  });
}

/** The command line is the user's own: it sees all, whoever made them. */
export function sandboxOf(invocation: Pick<Invocation, "resident">, name: string): Sandbox {
  return sandboxesOf(invocation).get(name);
}
