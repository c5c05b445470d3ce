/**
 * Code mode: programs of a model call tools of MCP servers from a sandbox. This folder owns the connections to those
 * servers, the modules that are made of their tools, and the decision about each call. Credentials and connections stay
 * on the host; a sandbox gets a stream on which it may ask. It never runs a server's words, only a user's entries.
 */
import type { Tool } from "../mcp/tool.js";
import type { ToolPolicy } from "./calls/policy.js";
import { ModuleCache } from "./modules/index.js";
import { ModuleFiles } from "./modules/module-files.js";
import { ReadySandboxes } from "./run/ready.js";
import type { ServerEntry } from "./servers/entries.js";
import { McpServers } from "./servers/index.js";
import type { Surroundings } from "./servers/stdio-transport.js";
import { codeRun } from "./tools/run.js";
import { codeSearch } from "./tools/search.js";
import { codeTypes } from "./tools/types.js";

/** Set for every server that code mode starts: an agentkernel among them offers no code mode, so runs cannot nest. */
const NESTED_VARIABLE = "AGENTKERNEL_CODE_MODE";

export interface CodeModeOptions {
  readonly entries: readonly ServerEntry[];
  readonly policy: ToolPolicy;
  readonly around: Surroundings;
  /** Where modules that were made are kept for later connections. */
  readonly modulesFolder: string;
  readonly connectTimeoutMs?: number;
  readonly callTimeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 30_000;
const CALL_TIMEOUT_MS = 60_000;

interface OpenCodeMode {
  readonly tools: readonly Tool[];
  /** Ends the servers, and what was made ready for programs. */
  close(): Promise<void>;
}

export function openCodeMode(options: CodeModeOptions): OpenCodeMode {
  const { entries, policy, around } = options;
  const servers = new McpServers({
    entries,
    around: { ...around, env: { ...around.env, [NESTED_VARIABLE]: "1" } },
    connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    callTimeoutMs: options.callTimeoutMs ?? CALL_TIMEOUT_MS,
  });
  const mode = {
    servers,
    policy,
    modules: new ModuleCache(new ModuleFiles(options.modulesFolder)),
    ready: new ReadySandboxes(),
  };
  return {
    tools: [codeSearch(mode), codeTypes(mode), codeRun(mode)],
    close: async () => {
      await Promise.all([mode.ready.close(), servers.close()]);
    },
  };
}
