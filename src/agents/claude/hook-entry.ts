/** The hook as it stands in Claude Code's settings. */
import type { Launch } from "../agent.js";
import { fieldsOf } from "../mcp-entry.js";
import { shellQuote } from "./shell-quote.js";
import { MATCHER } from "./shell-tools.js";

const HOOK_WORDS = ["hook", "claude"] as const;
const TIMEOUT_S = 30;

/**
 * Claude Code goes on without a hook that cannot be started. That must not happen: `onFailure` says so to versions that
 * know it, and status 2, which means "blocked" in all of them, to the rest. A hook that takes too long is then still passed
 * over by old versions.
 */
export function hookGroup(launch: Launch): object {
  const words = [...launch, ...HOOK_WORDS].map((word) => (/^[\w./-]+$/.test(word) ? word : shellQuote(word)));
  const command = `${words.join(" ")} || { echo 'agentkernel: the command was not run, since it could not be put into a sandbox' >&2; exit 2; }`;
  return { matcher: MATCHER, hooks: [{ type: "command", command, timeout: TIMEOUT_S, onFailure: "block" }] };
}

export function isHookGroup(value: unknown): boolean {
  const { hooks } = fieldsOf(value);
  return Array.isArray(hooks) && hooks.some((hook) => isHookCommand(fieldsOf(hook).command));
}

function isHookCommand(command: unknown): boolean {
  return (
    typeof command === "string" && command.includes("agentkernel") && command.includes(` ${HOOK_WORDS.join(" ")} ||`)
  );
}
