/**
 * One MCP server: connected when it is first needed, connected anew after it has died, its list of tools read anew when
 * it says that it changed. Its credentials stay in here; errors that leave are redacted.
 */
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { Redactor } from "../../core/redact.js";
import type { ServerEntry } from "./entries.js";
import { StdioTransport, type Surroundings } from "./stdio-transport.js";

type Sdk = typeof import("./client-sdk.js");
type SdkClient = InstanceType<Sdk["Client"]>;

export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
  /** Undefined: it says nothing of its results. */
  readonly outputSchema: unknown;
}

interface ServerOptions {
  readonly entry: ServerEntry;
  readonly around: Surroundings;
  readonly redact: Redactor;
  readonly connectTimeoutMs: number;
  readonly callTimeoutMs: number;
}

interface Connected {
  readonly client: SdkClient;
  readonly trouble: () => string;
  tools: Promise<readonly ToolSchema[]> | null;
}

const MOST_PAGES = 50;
const MOST_TOOLS = 2000;
const MOST_CHARS = 1000;
/** A server that could not be reached is not tried again at once. */
const REST_MS = 1000;

export class McpServer {
  readonly name: string;
  readonly #options: ServerOptions;
  #connecting: Promise<Connected> | null = null;
  #refused: { readonly error: AgentKernelError; readonly untilMs: number } | null = null;
  #isClosed = false;

  constructor(options: ServerOptions) {
    this.name = options.entry.name;
    this.#options = options;
  }

  async tools(): Promise<readonly ToolSchema[]> {
    const connected = await this.#connected();
    connected.tools ??= this.#list(connected);
    try {
      return await connected.tools;
    } catch (error) {
      connected.tools = null;
      throw error;
    }
  }

  /** Results are as the server gave them; nothing is believed of them. */
  async call(tool: string, args: object, signal: AbortSignal): Promise<unknown> {
    const known = await this.tools();
    if (!known.some(({ name }) => name === tool)) {
      throw new AgentKernelError(
        "not_found",
        `the server ${this.name} has no tool ${escapeText(tool)}, or not any more`,
        {
          hint: "look it up with code_search; a server may change its tools while it runs",
        },
      );
    }
    const connected = await this.#connected();
    const { CallToolResultSchema } = await import("./client-sdk.js");
    const request = { method: "tools/call", params: { name: tool, arguments: { ...args } } } as const;
    const timeout = this.#options.callTimeoutMs;
    try {
      return await connected.client.request(request, CallToolResultSchema, { timeout, signal });
    } catch (cause) {
      throw await this.#failure(`${tool} failed`, cause, connected);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connected = await this.#connecting?.catch(() => null);
    await connected?.client.close();
  }

  #connected(): Promise<Connected> {
    if (this.#isClosed) throw new AgentKernelError("conflict", "the connection has ended");
    if (this.#refused !== null && this.#refused.untilMs > performance.now()) throw this.#refused.error;
    this.#connecting ??= this.#connect();
    return this.#connecting;
  }

  async #connect(): Promise<Connected> {
    const { entry, around, connectTimeoutMs } = this.#options;
    const sdk = await import("./client-sdk.js");
    if (entry.kind !== "stdio") (await import("../../core/trust-held-authorities.js")).trustHeldAuthorities();
    const stdio = entry.kind === "stdio" ? new StdioTransport(entry, around) : null;
    const transport =
      stdio ??
      new sdk.StreamableHTTPClientTransport(new URL(addressOf(entry)), { requestInit: { headers: headersOf(entry) } });
    // Schemas of servers are never compiled here: what they describe is data for whoever asked.
    const trusting = {
      getValidator: () => (data: unknown) => ({ valid: true, data, errorMessage: undefined }) as never,
    };
    const client = new sdk.Client({ name: "agentkernel", version: "1" }, { jsonSchemaValidator: trusting });
    const trouble = () => stdio?.trouble ?? "";
    const connected: Connected = { client, trouble, tools: null };
    client.onclose = () => {
      this.#connecting = null;
    };
    client.onerror = () => {
      // What goes wrong with a request is told to whoever made it.
    };
    client.setNotificationHandler(sdk.ToolListChangedNotificationSchema, () => {
      connected.tools = null;
    });
    try {
      await client.connect(transport as Parameters<SdkClient["connect"]>[0], { timeout: connectTimeoutMs });
      this.#refused = null;
      return connected;
    } catch (cause) {
      const error = await this.#failure("it cannot be reached", cause, connected);
      await client.close().catch(() => {});
      await stdio?.close();
      this.#connecting = null;
      this.#refused = { error, untilMs: performance.now() + REST_MS };
      throw error;
    }
  }

  async #list(connected: Connected): Promise<readonly ToolSchema[]> {
    const { ListToolsResultSchema } = await import("./client-sdk.js");
    const found = new Map<string, ToolSchema>();
    let cursor: string | undefined;
    try {
      for (let page = 0; page < MOST_PAGES; page++) {
        const params = cursor === undefined ? {} : { cursor };
        const options = { timeout: this.#options.connectTimeoutMs };
        const listed = await connected.client.request({ method: "tools/list", params }, ListToolsResultSchema, options);
        for (const { name, description = "", inputSchema, outputSchema } of listed.tools) {
          if (found.size < MOST_TOOLS) found.set(name, { name, description, inputSchema, outputSchema });
        }
        cursor = listed.nextCursor;
        if (cursor === undefined) break;
      }
    } catch (cause) {
      throw await this.#failure("its tools cannot be listed", cause, connected);
    }
    return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async #failure(what: string, cause: unknown, { trouble }: Connected): Promise<AgentKernelError> {
    const { ErrorCode, McpError } = await import("./client-sdk.js");
    const { redact, callTimeoutMs } = this.#options;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const isLate = cause instanceof McpError && cause.code === ErrorCode.RequestTimeout;
    const why = [reason, trouble()].filter((part) => part !== "").join("; ");
    const message = escapeText(redact.text(`the server ${this.name}: ${what}: ${why}`).slice(0, MOST_CHARS));
    return new AgentKernelError("tool_failed", message, {
      hint: isLate
        ? `it had ${callTimeoutMs} ms; it may hang, or need longer`
        : "look at the server's entry and at what it says of itself",
      cause,
    });
  }
}

function addressOf(entry: ServerEntry): string {
  return entry.kind === "http" ? entry.url : "";
}

function headersOf(entry: ServerEntry): Record<string, string> {
  return entry.kind === "http" ? { ...entry.headers } : {};
}
