/** The query's sandbox as an MCP server in this process: tools `mcp__agentkernel__run`, `…__read`, `…__write`. */
import { z } from "zod";
import { type AgentSdk, loadAgentSdk } from "./agent-sdk.js";
import type { SandboxResult, SandboxRunner } from "./types.js";

export const SERVER_NAME = "agentkernel";

export async function sandboxServer(runner: SandboxRunner, sdk?: AgentSdk): Promise<unknown> {
  const { tool, createSdkMcpServer } = sdk ?? (await loadAgentSdk());
  const path = z.string().describe("Inside the sandbox; the project is /workspace.");
  const said = (text: string, isError = false) => ({ content: [{ type: "text" as const, text }], isError });
  const tools = [
    tool(
      "run",
      "Runs a shell command in the sandbox of this query.",
      { command: z.string(), timeout_ms: z.number().int().positive().optional() },
      async ({ command, timeout_ms }) => {
        const timeoutMs = typeof timeout_ms === "number" ? { timeoutMs: timeout_ms } : {};
        return said(wordsOf(await runner.run(String(command), timeoutMs)));
      },
    ),
    tool("read", "Reads a text file in the sandbox.", { path }, async (args) =>
      said(await runner.readFile(String(args.path))),
    ),
    tool("write", "Writes a text file in the sandbox.", { path, text: z.string() }, async (args) => {
      await runner.writeFile(String(args.path), String(args.text));
      return said(`written: ${String(args.path)}`);
    }),
  ];
  return createSdkMcpServer({ name: SERVER_NAME, version: "1", tools });
}

function wordsOf({ stdout, stderr, exitCode, timedOut }: SandboxResult): string {
  const end = timedOut ? "[the time limit ended it]" : `[exit code ${exitCode}]`;
  return [stdout, stderr, end].filter((part) => part !== "").join("\n");
}
