/** Which tools may be used, as the SDK asks. */
import type { CanUseTool } from "./agent-sdk.js";
import { ToolRefusedError } from "./errors.js";
import type { SandboxPolicy } from "./types.js";

export interface Verdict {
  readonly verdict: "allow" | "deny" | "ask";
  readonly rule: string;
}

/** What needs no rule: it runs in the sandbox. */
export const ALWAYS_INSIDE = ["Bash", "mcp__agentkernel__*"];

export function decide({ allow = [], deny = [], askFor = [] }: SandboxPolicy, tool: string): Verdict {
  const fitting = (patterns: readonly string[]) => patterns.find((pattern) => fits(pattern, tool));
  const denied = fitting(deny);
  if (denied !== undefined) return { verdict: "deny", rule: `the policy denies ${denied}` };
  const asked = fitting(askFor);
  if (asked !== undefined) return { verdict: "ask", rule: `the policy asks about ${asked}` };
  const allowed = fitting([...allow, ...ALWAYS_INSIDE]);
  return allowed === undefined
    ? { verdict: "deny", rule: "no rule of the policy allows it" }
    : { verdict: "allow", rule: `the policy allows ${allowed}` };
}

/** Throws ToolRefusedError where the policy, or whoever it asks, does not allow it. */
export async function refuseUnlessAllowed(
  policy: SandboxPolicy,
  tool: string,
  input: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { verdict, rule } = decide(policy, tool);
  if (verdict === "allow") return;
  if (verdict === "ask" && policy.ask !== undefined && (await policy.ask(tool, input))) return;
  throw new ToolRefusedError(tool, rule);
}

export function canUseToolBy(policy: SandboxPolicy): CanUseTool {
  return async (tool, input) => {
    try {
      await refuseUnlessAllowed(policy, tool, input);
      return { behavior: "allow", updatedInput: input };
    } catch (error) {
      if (!(error instanceof ToolRefusedError)) throw error;
      return { behavior: "deny", message: error.message };
    }
  };
}

function fits(pattern: string, text: string): boolean {
  const parts = pattern.split("*");
  const [first = "", ...rest] = parts;
  if (rest.length === 0) return pattern === text;
  if (!text.startsWith(first)) return false;
  const last = rest.pop() ?? "";
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
