/**
 * src/mcp owns the Model Context Protocol: tools and resources for agents, over streams and over HTTP, on the official
 * SDK. It turns calls into work of the runtime, by the same checks as the HTTP interface, and ends what a client had made
 * when the client is gone. It decides nothing that a policy decides, and writes nothing but the protocol to a client.
 */
export { McpConnection } from "./connection.js";
export type { McpHost } from "./host.js";
