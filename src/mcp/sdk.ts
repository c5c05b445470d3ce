/** The pieces of the official SDK that a server needs. A chunk of its own: loading it takes as long as starting Node. */
export { Server } from "@modelcontextprotocol/sdk/server/index.js";
export {
  CallToolRequestSchema,
  ElicitResultSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
