/**
 * Sandboxes for agents that are built on the Claude Agent SDK: every Bash command of a query runs in a sandbox of that
 * query, which is removed at its end. It speaks to a daemon of agentkernel and runs nothing itself.
 */
export type { AgentSdk, CanUseTool, HookCallback, HookMatcher, PermissionMode, QueryOptions } from "./agent-sdk.js";
export { AgentSdkMissingError, SandboxUnavailableError, ToolRefusedError } from "./errors.js";
export { hooksFor } from "./hooks.js";
export { canUseToolBy, decide, type Verdict } from "./policy.js";
export { type SandboxedQuery, sandboxedOptions, sandboxedQuery } from "./query.js";
export { openRunner } from "./runner.js";
export { SERVER_NAME, sandboxServer } from "./server.js";
export type {
  SandboxBashInput,
  SandboxOptions,
  SandboxPolicy,
  SandboxResult,
  SandboxRunner,
  ToolRecord,
} from "./types.js";
