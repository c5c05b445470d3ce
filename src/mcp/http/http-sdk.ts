/** The SDK's transport for HTTP. A chunk of its own: only servers need it. */
export { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
