/**
 * Stands in for `agentkernel mcp server` in a build that has none: one tool over stdio, whose answer comes from a real
 * sandbox of the real command line.
 */
import { spawnSync } from "node:child_process";
import { createInterface } from "node:readline";

interface Call {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly arguments?: { readonly command?: readonly string[] };
  };
}

const tool = {
  name: "sandbox_run",
  description: "Runs a command in a sandbox",
  inputSchema: {
    type: "object",
    properties: { command: { type: "array", items: { type: "string" } } },
    required: ["command"],
  },
};

function answer({ method, params }: Call): object {
  if (method === "initialize") {
    return {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "agentkernel", version: "0" },
    };
  }
  if (method === "tools/list") return { tools: [tool] };
  if (method !== "tools/call") return {};
  const words = ["run", "--no-network", "--", ...(params?.arguments?.command ?? [])];
  const { stdout, stderr } = spawnSync("agentkernel", words, { encoding: "utf8" });
  return { content: [{ type: "text", text: stdout + stderr }] };
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const call = JSON.parse(line) as Call;
  if (call.id === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: call.id, result: answer(call) })}\n`);
});
