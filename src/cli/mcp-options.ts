/** The verbs of the MCP server. */
import type { VerbSpec } from "./option-spec.js";
import { serverPolicyOptions } from "./policy-options.js";

const server: Omit<VerbSpec, "name" | "summary" | "usage"> = {
  examples: [
    "agentkernel mcp server",
    "agentkernel mcp server --compatibility-mode claude --memory 2g",
    "agentkernel mcp server --mcp-config .mcp.json --allow-tool 'github/list_*' --tools code",
    "claude mcp add agentkernel -- agentkernel mcp server",
    'a configuration file: {"mcpServers": {"agentkernel": {"command": "agentkernel", "args": ["mcp", "server"]}}}',
  ],
  options: [
    ...serverPolicyOptions,
    {
      long: "mcp-config",
      value: "FILE",
      repeats: true,
      completes: "file",
      help: "offer code mode over the MCP servers of this file, such as .mcp.json",
    },
    {
      long: "mcp-server",
      value: "NAME=COMMAND|URL",
      repeats: true,
      help: "offer code mode over this MCP server too",
    },
    {
      long: "tool-policy",
      value: "FILE",
      completes: "file",
      help: "which tools code may call (docs/code-mode.md)",
    },
    {
      long: "allow-tool",
      value: "PATTERN",
      repeats: true,
      help: "let code call these tools, as server/tool; * is any text",
    },
    {
      long: "tools",
      value: "WHICH",
      choices: ["all", "code"],
      help: "which tools are offered; code: those of code mode alone",
    },
  ],
  rest: { kind: "none" },
  standing: true,
  load: () => import("./verbs/mcp-server.js"),
};

export const mcpVerbs: readonly VerbSpec[] = [
  {
    ...server,
    name: "mcp server",
    summary: "give an agent sandboxes, by the Model Context Protocol on stdin and stdout",
    usage: "mcp server [options]",
  },
  { ...server, name: "mcp-server", summary: "the same as mcp server", usage: "mcp-server [options]" },
];
