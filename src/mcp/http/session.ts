/** One client over HTTP: its transport, its connection, and whether anybody still speaks to it. */
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { McpConnection } from "../connection.js";

export class HttpSession {
  readonly caller: string;
  readonly transport: StreamableHTTPServerTransport;
  readonly connection: McpConnection;
  readonly #idleMs: number;
  #open = 0;
  #idle: NodeJS.Timeout | undefined;

  /** With no request and no stream open for `idleMs`, its client counts as gone. */
  constructor(caller: string, transport: StreamableHTTPServerTransport, connection: McpConnection, idleMs: number) {
    this.caller = caller;
    this.transport = transport;
    this.connection = connection;
    this.#idleMs = idleMs;
    void connection.over.then(() => clearTimeout(this.#idle));
  }

  /** A request is being answered until `over`. */
  use(over: Promise<unknown>): void {
    this.#open++;
    clearTimeout(this.#idle);
    void over.finally(() => {
      this.#open--;
      if (this.#open > 0) return;
      this.#idle = setTimeout(() => void this.connection.close(), this.#idleMs);
      this.#idle.unref();
    });
  }
}
