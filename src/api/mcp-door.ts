/** Who serves `/mcp`: handed in by whoever composes the server, since it is built on what is here. */

import type { Caller } from "./auth/caller.js";
import type { Backing } from "./call.js";
import type { Exchange } from "./http/exchange.js";

export interface McpDoor {
  /** The caller is known, and may ask. Resolves when the response is over. */
  serve(exchange: Exchange, caller: Caller, backing: Backing, maxBodyBytes: number): Promise<void>;
  /** Ends every session, with all that goes on in it. */
  close(): Promise<void>;
}
