/** Limits of every HTTP server of ours. */
import type { ServerOptions } from "node:http";

export const serverOptions: ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  // Until the last byte of the body; uploads stream, and one that stalls is cut off much sooner.
  requestTimeout: 600_000,
  connectionsCheckingInterval: 2000,
  keepAliveTimeout: 75_000,
  noDelay: true,
};
