/**
 * As much of the Claude Agent SDK as this package speaks to, by its form and not by its package: so it compiles without
 * it, and fits every version that has these. A test compiles the two against each other.
 */
import { AgentSdkMissingError } from "./errors.js";

export type PermissionMode = "default" | "acceptEdits" | "bypassPermissions" | "plan" | "dontAsk" | "auto";

export type PermissionResult =
  | { behavior: "allow"; updatedInput?: Record<string, unknown> }
  | { behavior: "deny"; message: string; interrupt?: boolean };

export type CanUseTool = (
  toolName: string,
  input: Record<string, unknown>,
  options: { signal: AbortSignal },
) => Promise<PermissionResult>;

/** What a hook is told; which fields are there depends on the event. */
export interface HookInput {
  readonly hook_event_name: string;
  readonly tool_name?: string;
  readonly tool_input?: unknown;
  readonly tool_response?: unknown;
  /** Why a tool failed. */
  readonly error?: unknown;
  readonly duration_ms?: number;
}

export interface PreToolUseOutput {
  hookSpecificOutput?: {
    hookEventName: "PreToolUse";
    permissionDecision?: "allow" | "deny" | "ask";
    permissionDecisionReason?: string;
    updatedInput?: Record<string, unknown>;
  };
}

export type HookCallback = (
  input: HookInput,
  toolUseId: string | undefined,
  options: { signal: AbortSignal },
) => Promise<PreToolUseOutput>;

export interface HookMatcher {
  matcher?: string;
  hooks: HookCallback[];
}

/** Options of `query` that are read or set here; all others pass through as they are. */
export interface QueryOptions {
  cwd?: string | undefined;
  canUseTool?: unknown;
  hooks?: object | undefined;
  mcpServers?: object | undefined;
}

interface ToolContent {
  content: { type: "text"; text: string }[];
  isError?: boolean;
  [member: string]: unknown;
}

export interface AgentSdk {
  query(params: { prompt: string | AsyncIterable<unknown>; options?: object }): AsyncIterable<unknown>;
  tool(
    name: string,
    description: string,
    schema: Record<string, unknown>,
    handler: (args: Record<string, unknown>) => Promise<ToolContent>,
  ): unknown;
  createSdkMcpServer(options: { name: string; version: string; tools: unknown[] }): unknown;
}

const PACKAGE = "@anthropic-ai/claude-agent-sdk";

export async function loadAgentSdk(name: string = PACKAGE): Promise<AgentSdk> {
  try {
    return (await import(name)) as AgentSdk;
  } catch (cause) {
    throw new AgentSdkMissingError(`${name} cannot be loaded; npm install ${name} zod installs it`, { cause });
  }
}
