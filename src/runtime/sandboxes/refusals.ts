/** Why something cannot be done with a sandbox as it is. */
import { AgentKernelError } from "../../core/errors.js";
import type { Phrase } from "../../settings/wording.js";

export function refusal(name: string, what: string, hint: Phrase): AgentKernelError {
  return new AgentKernelError("conflict", `the sandbox ${name} ${what}`, { hint });
}

export function stillRuns(name: string, state: string): AgentKernelError {
  return refusal(name, `is ${state}`, ({ forcedRemoval }) => `stop it first, or use ${forcedRemoval}`);
}

export function nameTaken(name: string): AgentKernelError {
  return new AgentKernelError("conflict", `there is a sandbox ${name} already`, {
    hint: (wording) => `choose another name, or remove it: ${wording.removal(name)}`,
  });
}

export function notFound(name: string): AgentKernelError {
  return new AgentKernelError("not_found", `there is no sandbox ${name}`, {
    hint: (wording) => `${wording.listing} shows those that there are`,
  });
}

export function unreadable(name: string, cause: unknown): AgentKernelError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AgentKernelError("conflict", `the record of the sandbox ${name} cannot be read: ${reason}`, {
    hint: (wording) => `remove the sandbox with ${wording.forcedRemoval}; the others are not concerned`,
    cause,
  });
}

/** The guest of a sandbox that was just started does not say that it is ready. */
export function silentGuest(): AgentKernelError {
  return new AgentKernelError("sandbox_start_failed", "the sandbox was started and does not answer", {
    hint: "try again; if it goes on, agentkernel doctor shows what this machine can do",
  });
}
