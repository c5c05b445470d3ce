/** The official client, on the streams of `agentkernel mcp server` as an actor would start it. */
import type { ChildProcess } from "node:child_process";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult, ClientCapabilities, JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { type Actor, environmentOf, programOf } from "./actors.js";
import { startedBy } from "./run-as.js";

interface McpOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly capabilities?: ClientCapabilities;
  readonly words?: readonly string[];
}

interface McpSession {
  readonly client: Client;
  /** Of what the client started. */
  readonly pid: number;
  readonly stderr: () => string;
}

export function newClient(capabilities: ClientCapabilities = {}): Client {
  return new Client({ name: "agentkernel-tests", version: "1" }, { capabilities });
}

/** `prepare`: what the client answers by, before it connects. */
export async function startMcp(
  actor: Actor,
  options: McpOptions = {},
  prepare: (client: Client) => void = () => {},
): Promise<McpSession> {
  const [program = "", ...before] = programOf(actor);
  const transport = new StdioClientTransport({
    command: startedBy(actor, program),
    args: [...before, ...(options.words ?? ["mcp", "server"])],
    cwd: options.cwd ?? actor.home,
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin", ...environmentOf(actor), ...options.env },
    stderr: "pipe",
  });
  let stderr = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    stderr += String(chunk);
  });
  const client = newClient(options.capabilities);
  prepare(client);
  await client.connect(transport);
  return { client, pid: transport.pid ?? -1, stderr: () => stderr };
}

/** A process that a test has started in a place of its own. */
export class ProcessTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #child: ChildProcess;
  readonly #buffer = new ReadBuffer();

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  async start(): Promise<void> {
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      this.#buffer.append(chunk);
      for (let next = this.#buffer.readMessage(); next !== null; next = this.#buffer.readMessage()) {
        this.onmessage?.(next);
      }
    });
    this.#child.once("close", () => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#child.stdin?.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("close", resolve));
    this.#child.stdin?.end();
    await ended;
  }
}

export interface ToolAnswer {
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every form
  readonly data: any;
  readonly isError: boolean;
}

export async function call(
  client: Client,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  options: Parameters<Client["callTool"]>[2] = {},
): Promise<ToolAnswer> {
  const result = (await client.callTool({ name, arguments: args }, undefined, options)) as CallToolResult;
  const text = result.content.map((one) => (one.type === "text" ? one.text : `[${one.type}]`)).join("\n");
  return { text, data: result.structuredContent, isError: result.isError === true };
}
