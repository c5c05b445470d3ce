/**
 * The answer to `initialize`, without the SDK: a client waits for it while everything else is still being loaded. The
 * SDK's server says the same (a test holds that), and gets the same message when it is there.
 */
import { version } from "../core/version.js";

/** As in the SDK; newest first. */
export const protocolVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"] as const;

export const serverInfo = { name: "agentkernel", title: "agentkernel sandboxes", version } as const;

export const capabilities = { tools: {}, resources: {}, logging: {} } as const;

export const sandboxInstructions = [
  "Commands run in sandboxes on this machine: they cannot read the user's secrets, cannot change the user's files unless the mode says so, and reach only what the policy allows.",
  "sandbox_run runs one command in a fresh sandbox that is gone afterwards. For several commands that build on each other, make a sandbox with sandbox_session_create (it ends with this connection) or sandbox_create (it stays), and use sandbox_exec with its name.",
  'A command is a list of words; for shell syntax use ["sh", "-c", "…"]. The project is /workspace. An exit code other than 0 is a result, not an error.',
].join("\n");

export const codeInstructions =
  "Work that takes several calls of tools, or much data, is one program: code_search finds tools of the MCP servers and shows how they are called, and code_run runs the program in a sandbox without network. Only what it prints comes back: print the answer, not the data.";

interface InitializeMessage {
  readonly id: string | number;
  readonly protocolVersion: string;
}

/** The answer to a message that is a well-formed `initialize`; null for every other. */
export function greet(message: unknown, instructions: string): object | null {
  const asked = initializeOf(message);
  if (asked === null) return null;
  const known = protocolVersions.find((one) => one === asked.protocolVersion);
  const result = {
    protocolVersion: known ?? protocolVersions[0],
    capabilities,
    serverInfo,
    instructions,
  };
  return { result, jsonrpc: "2.0", id: asked.id };
}

function initializeOf(message: unknown): InitializeMessage | null {
  if (!isObject(message) || message.jsonrpc !== "2.0" || message.method !== "initialize") return null;
  const { id, params } = message;
  if ((typeof id !== "string" && !Number.isInteger(id)) || !isObject(params)) return null;
  const { protocolVersion, capabilities: offered, clientInfo } = params;
  if (typeof protocolVersion !== "string" || !isObject(offered) || !isObject(clientInfo)) return null;
  if (typeof clientInfo.name !== "string" || typeof clientInfo.version !== "string") return null;
  return { id: id as string | number, protocolVersion };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
