/** The verbs of the MCP server. */
import type { VerbSpec } from "./option-spec.js";

const server: Omit<VerbSpec, "name" | "summary" | "usage"> = {
  examples: [
    "agentkernel mcp server",
    "claude mcp add agentkernel -- agentkernel mcp server",
    'a configuration file: {"mcpServers": {"agentkernel": {"command": "agentkernel", "args": ["mcp", "server"]}}}',
  ],
  options: [],
  rest: { kind: "none" },
  standing: true,
  load: () => import("./verbs/mcp-server.js"),
};

export const mcpVerbs: readonly VerbSpec[] = [
  {
    ...server,
    name: "mcp server",
    summary: "give an agent sandboxes, by the Model Context Protocol on stdin and stdout",
    usage: "mcp server",
  },
  { ...server, name: "mcp-server", summary: "the same as mcp server", usage: "mcp-server" },
];
