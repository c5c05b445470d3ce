/** One client, from its first message to its last: what it asked for is done, and what it had made ends with it. */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { refuseUnlessScoped } from "../api/auth/caller.js";
import { errorTable, isAgentKernelError } from "../core/errors.js";
import { Questions } from "./approval.js";
import { failedCall } from "./errors.js";
import { capabilities, instructions, serverInfo } from "./greeting.js";
import type { McpHost } from "./host.js";
import { KeptOutputs } from "./output/kept-outputs.js";
import { listResources, readResource, resourceTemplates } from "./resources.js";
import { SessionSandboxes } from "./session-sandboxes.js";
import type { Call, Tool } from "./tool.js";
import { tools as allTools } from "./tools/index.js";

type Sdk = typeof import("./sdk.js");
type SdkServer = InstanceType<Sdk["Server"]>;
type Extra = Parameters<Parameters<SdkServer["setRequestHandler"]>[1]>[1];

export interface ConnectionOptions {
  readonly host: McpHost;
  /** A fault of our own. */
  readonly onFault: (error: unknown) => void;
  /** Those of the product, unless a test brings its own. */
  readonly tools?: readonly Tool[];
}

export class McpConnection {
  readonly #options: ConnectionOptions;
  readonly #sdk: Sdk;
  readonly #server: SdkServer;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #sessions: SessionSandboxes;
  readonly #outputs: KeptOutputs;
  readonly #questions = new Questions();
  readonly #working = new Set<Promise<unknown>>();
  #closing: Promise<void> | null = null;
  #hasClosed: () => void = () => {};
  /** Settles when nothing of it is left. Never rejects. */
  readonly over: Promise<void>;

  private constructor(sdk: Sdk, options: ConnectionOptions) {
    this.#sdk = sdk;
    this.#options = options;
    const { outputs, caller } = options.host;
    this.#outputs = new KeptOutputs(() => outputs.open(caller.id));
    this.#tools = new Map((options.tools ?? allTools).map((tool) => [tool.description.name, tool]));
    this.#server = new sdk.Server(serverInfo, { capabilities, instructions });
    this.#sessions = new SessionSandboxes((name) => this.#tellDied(name));
    this.over = new Promise((resolve) => {
      this.#hasClosed = resolve;
    });
    this.#server.onclose = () => void this.close();
    this.#server.onerror = () => {
      // What a client sends wrongly it is told in an answer; what cannot be sent to it has nobody to hear it.
    };
    this.#listen();
  }

  static async open(transport: Transport, options: ConnectionOptions): Promise<McpConnection> {
    const connection = new McpConnection(await import("./sdk.js"), options);
    await connection.#server.connect(transport);
    return connection;
  }

  /** Commands at work and the connection's own sandboxes end. Settles when nothing of them is left. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Aborts whatever is being answered.
    await this.#server.close();
    await Promise.allSettled(this.#working);
    await this.#sessions.close();
    this.#outputs.clear();
    this.#hasClosed();
  }

  #listen(): void {
    const sdk = this.#sdk;
    const server = this.#server;
    server.setRequestHandler(sdk.ListToolsRequestSchema, () => ({
      tools: [...this.#tools.values()].map(({ description }) => description),
    }));
    server.setRequestHandler(sdk.CallToolRequestSchema, ({ params }, extra) =>
      this.#work(() => this.#callTool(params.name, params.arguments, extra)),
    );
    server.setRequestHandler(sdk.ListResourcesRequestSchema, () => ({
      resources: listResources({ outputs: this.#outputs }) as [],
    }));
    server.setRequestHandler(sdk.ListResourceTemplatesRequestSchema, () => ({
      resourceTemplates: [...resourceTemplates],
    }));
    server.setRequestHandler(sdk.ReadResourceRequestSchema, ({ params }, extra) =>
      this.#work(() => this.#readResource(params.uri, extra)),
    );
  }

  /** Is waited for when the connection ends. */
  async #work<T>(work: () => Promise<T>): Promise<T> {
    const served = this.#options.host.serve();
    const working = work();
    this.#working.add(working);
    try {
      return await working;
    } finally {
      this.#working.delete(working);
      served();
    }
  }

  async #callTool(name: string, args: unknown, extra: Extra) {
    const tool = this.#tools.get(name);
    if (tool === undefined) {
      const known = [...this.#tools.keys()].join(", ");
      throw new this.#sdk.McpError(
        this.#sdk.ErrorCode.InvalidParams,
        `there is no tool ${JSON.stringify(name.slice(0, 100))}; there are ${known}`,
      );
    }
    const { host, onFault } = this.#options;
    try {
      refuseUnlessScoped(host.caller, tool.scope);
      const { text, data } = await tool.call(args, this.#call(extra));
      return { content: [{ type: "text", text }], structuredContent: data };
    } catch (error) {
      if (!isAgentKernelError(error) && !extra.signal.aborted) onFault(error);
      const { content, ...failed } = failedCall(error, host.redact);
      return { content: [...content], ...failed };
    }
  }

  async #readResource(uri: string, extra: Extra) {
    try {
      refuseUnlessScoped(this.#options.host.caller, ["read", "sandboxes", "run"]);
      return (await readResource(uri, this.#call(extra))) as { contents: [] };
    } catch (error) {
      if (!isAgentKernelError(error)) throw error;
      // As the protocol has it for resources that are not there.
      const code = errorTable[error.code].http === 404 ? -32002 : this.#sdk.ErrorCode.InvalidParams;
      const { content } = failedCall(error, this.#options.host.redact);
      throw new this.#sdk.McpError(code, content[0].text, { uri });
    }
  }

  #call(extra: Extra): Call {
    const token = extra._meta?.progressToken;
    const { elicitation } = this.#server.getClientCapabilities() ?? {};
    // One that says nothing of its kinds means forms.
    const mayAsk = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
    return {
      host: this.#options.host,
      sessions: this.#sessions,
      outputs: this.#outputs,
      signal: extra.signal,
      ask: mayAsk ? this.#ask(extra) : null,
      progress:
        token === undefined
          ? null
          : async (progress, message) => {
              const params = { progressToken: token, progress, message };
              await extra.sendNotification({ method: "notifications/progress", params });
            },
    };
  }

  #ask(extra: Extra): NonNullable<Call["ask"]> {
    return this.#questions.through(async (params, signal) => {
      const request = { method: "elicitation/create" as const, params: params as never };
      // The gateway's own limit, which the signal tells of, is shorter.
      return await extra.sendRequest(request, this.#sdk.ElicitResultSchema, { signal, timeout: 600_000 });
    });
  }

  #tellDied(name: string): void {
    const data = `the sandbox ${name} has ended by itself, with all that was in it`;
    this.#server.sendLoggingMessage({ level: "warning", logger: "agentkernel", data }).catch(() => {});
  }
}
