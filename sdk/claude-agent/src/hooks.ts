/**
 * Before Bash: the command is rewritten to run in the query's sandbox, whatever mode of permissions the query has; what
 * cannot be read is denied. Before any other tool: the policy. After each: a record.
 */
import type { HookInput, HookMatcher, PreToolUseOutput } from "./agent-sdk.js";
import { ToolRefusedError } from "./errors.js";
import { refuseUnlessAllowed } from "./policy.js";
import type { SandboxBashInput, SandboxOptions, SandboxRunner } from "./types.js";

export function hooksFor(
  runner: SandboxRunner,
  { policy = {}, onRecord }: Pick<SandboxOptions, "policy" | "onRecord">,
): Record<"PreToolUse" | "PostToolUse" | "PostToolUseFailure", HookMatcher[]> {
  const before = async (input: HookInput): Promise<PreToolUseOutput> => {
    const tool = input.tool_name ?? "";
    const given = isFields(input.tool_input) ? input.tool_input : {};
    try {
      await refuseUnlessAllowed(policy, tool, given);
    } catch (error) {
      if (error instanceof ToolRefusedError) return denied(error.message);
      throw error;
    }
    return tool === "Bash" ? routed(given, runner) : {};
  };
  const after = async (input: HookInput): Promise<PreToolUseOutput> => {
    const tool = input.tool_name ?? "";
    onRecord?.({
      tool,
      input: input.tool_input,
      isFailed: input.hook_event_name === "PostToolUseFailure",
      responseBytes: new TextEncoder().encode(JSON.stringify(input.tool_response ?? input.error) ?? "").length,
      durationMs: input.duration_ms ?? null,
      sandbox: tool === "Bash" ? runner.name : null,
    });
    return {};
  };
  return {
    PreToolUse: [{ hooks: [before] }],
    PostToolUse: [{ hooks: [after] }],
    PostToolUseFailure: [{ hooks: [after] }],
  };
}

function routed(given: Readonly<Record<string, unknown>>, runner: SandboxRunner): PreToolUseOutput {
  const input = bashInput(given);
  if (input === null) return denied("the command of the Bash tool cannot be read, so it is not run");
  if (input.dangerouslyDisableSandbox === true) return denied("commands of this query do not leave their sandbox");
  const updatedInput = { ...given, command: runner.hostCommand(input.command), dangerouslyDisableSandbox: false };
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "allow",
      permissionDecisionReason: `it runs in the sandbox ${runner.name}`,
      updatedInput,
    },
  };
}

function bashInput(given: Readonly<Record<string, unknown>>): SandboxBashInput | null {
  return typeof given.command === "string" && given.command !== "" ? (given as unknown as SandboxBashInput) : null;
}

function denied(reason: string): PreToolUseOutput {
  return {
    hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: reason },
  };
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
