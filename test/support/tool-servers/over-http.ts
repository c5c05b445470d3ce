/** MCP servers over HTTP on loopback, any number of them in the test's own process. Each wants its key. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const KEY = "key-of-the-server-0123456789";

export interface HttpServers {
  /** For `.mcp.json`. */
  readonly entries: Readonly<Record<string, object>>;
  /** Requests that came without the key. */
  readonly unidentified: () => number;
  close(): Promise<void>;
}

/** `names` of servers, each with so many tools. */
export async function serveOverHttp(names: readonly string[], tools: number): Promise<HttpServers> {
  let unidentified = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.authorization !== `Bearer ${KEY}`) {
      unidentified++;
      response.writeHead(401).end();
      return;
    }
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const server = mcpServer(request.url?.slice(1) ?? "", tools);
    // Without sessions: each request has a server of its own.
    const transport = new StreamableHTTPServerTransport();
    response.once("close", () => void server.close());
    await server.connect(transport as Parameters<Server["connect"]>[0]);
    await transport.handleRequest(request, response);
  };
  const http = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const entry = (name: string) => ({
    url: `http://127.0.0.1:${port}/${name}`,
    headers: { Authorization: `Bearer ${KEY}` },
  });
  return {
    entries: Object.fromEntries(names.map((name) => [name, entry(name)])),
    unidentified: () => unidentified,
    close: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

function mcpServer(name: string, count: number): Server {
  const server = new Server({ name, version: "1" }, { capabilities: { tools: {} } });
  const tools = Array.from({ length: count }, (_, index) => ({
    name: `${name}_action_${index}`,
    description: `Action ${index} of ${name}. ${"It is described at length. ".repeat(10)}`,
    inputSchema: { type: "object" as const, properties: { id: { type: "string" } }, required: ["id"] },
  }));
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: "text", text: `${params.name} ${String(params.arguments?.id)}` }],
  }));
  return server;
}
