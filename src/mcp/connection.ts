/** One client, from its first message to its last: what it asked for is done, and what it had made ends with it. */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { refuseUnlessScoped } from "../api/auth/caller.js";
import type { OutputRoom } from "../api/limits/output-budget.js";
import { errorTable, isAgentKernelError } from "../core/errors.js";
import { type Elicit, Questions } from "./approval.js";
import { failedCall } from "./errors.js";
import { capabilities, sandboxInstructions, serverInfo } from "./greeting.js";
import type { McpHost } from "./host.js";
import { KeptOutputs } from "./output/kept-outputs.js";
import type { RequestsAtWork } from "./requests-at-work.js";
import { listResources, readResource, resourceTemplates } from "./resources.js";
import { SessionSandboxes } from "./session-sandboxes.js";
import type { Call, Tool } from "./tool.js";
import { tools as allTools } from "./tools/index.js";

type Sdk = typeof import("./sdk.js");
type SdkServer = InstanceType<Sdk["Server"]>;
type Extra = Parameters<Parameters<SdkServer["setRequestHandler"]>[1]>[1];

interface RequestContext {
  readonly extra: Extra;
  /** Memory for the answer. */
  readonly room: OutputRoom;
}

interface ConnectionOptions {
  readonly host: McpHost;
  /** A fault of our own. */
  readonly onFault: (error: unknown) => void;
  /** What the transport has taken. */
  readonly atWork: RequestsAtWork;
  /** Those of the product, unless a test brings its own. */
  readonly tools?: readonly Tool[];
  /** What a model should know of these tools. */
  readonly instructions?: string;
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
  /** Ends everything that is being done, however its request can be reached. */
  readonly #ending = new AbortController();
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
    const { instructions = sandboxInstructions } = options;
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
    this.#ending.abort();
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
      this.#work(extra, (asked) => this.#callTool(params.name, params.arguments, asked)),
    );
    server.setRequestHandler(sdk.ListResourcesRequestSchema, () => ({
      resources: listResources({ outputs: this.#outputs }) as [],
    }));
    server.setRequestHandler(sdk.ListResourceTemplatesRequestSchema, () => ({
      resourceTemplates: [...resourceTemplates],
    }));
    server.setRequestHandler(sdk.ReadResourceRequestSchema, ({ params }, extra) =>
      this.#work(extra, (asked) => this.#readResource(params.uri, asked)),
    );
  }

  /** Ends with the connection, which waits for it. */
  async #work<T>(extra: Extra, work: (asked: RequestContext) => Promise<T>): Promise<T> {
    const { host, atWork } = this.#options;
    const served = host.serve();
    const signal = AbortSignal.any([extra.signal, this.#ending.signal]);
    const room = host.outputs.open(host.caller.id);
    const working = atWork.during(extra.requestId, room.release, () => work({ extra: { ...extra, signal }, room }));
    this.#working.add(working);
    try {
      return await working;
    } finally {
      this.#working.delete(working);
      served();
    }
  }

  async #callTool(name: string, args: unknown, asked: RequestContext) {
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
      const { text, data } = await tool.call(args, this.#call(asked));
      return { content: [{ type: "text", text }], structuredContent: data };
    } catch (error) {
      if (!isAgentKernelError(error) && !asked.extra.signal.aborted) onFault(error);
      const { content, ...failed } = failedCall(error, host.redact);
      return { content: [...content], ...failed };
    }
  }

  async #readResource(uri: string, asked: RequestContext) {
    try {
      refuseUnlessScoped(this.#options.host.caller, ["read", "sandboxes", "run"]);
      return (await readResource(uri, this.#call(asked))) as { contents: [] };
    } catch (error) {
      if (!isAgentKernelError(error)) throw error;
      // As the protocol has it for resources that are not there.
      const code = errorTable[error.code].http === 404 ? -32002 : this.#sdk.ErrorCode.InvalidParams;
      const { content } = failedCall(error, this.#options.host.redact);
      throw new this.#sdk.McpError(code, content[0].text, { uri });
    }
  }

  #call({ extra, room }: RequestContext): Call {
    const token = extra._meta?.progressToken;
    const { elicitation } = this.#server.getClientCapabilities() ?? {};
    // One that says nothing of its kinds means forms.
    const hasForms = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
    const { host } = this.#options;
    // Whoever is not the user of this machine would only allow themselves what they asked for.
    const mayAsk = hasForms && host.caller.isTrusted;
    const elicit = this.#elicit(extra);
    return {
      host,
      sessions: this.#sessions,
      outputs: this.#outputs,
      room,
      signal: extra.signal,
      ask: mayAsk ? this.#questions.through(elicit) : null,
      confirm: mayAsk ? (question) => this.#questions.confirmed(elicit, question, extra.signal) : null,
      progress:
        token === undefined
          ? null
          : async (progress, message) => {
              const params = { progressToken: token, progress, message };
              await extra.sendNotification({ method: "notifications/progress", params });
            },
    };
  }

  #elicit(extra: Extra): Elicit {
    return async (params, signal) => {
      const request = { method: "elicitation/create" as const, params: params as never };
      // The gateway's own limit, which the signal tells of, is shorter.
      return await extra.sendRequest(request, this.#sdk.ElicitResultSchema, { signal, timeout: 600_000 });
    };
  }

  #tellDied(name: string): void {
    const data = `the sandbox ${name} has ended by itself, with all that was in it`;
    this.#server.sendLoggingMessage({ level: "warning", logger: "agentkernel", data }).catch(() => {});
  }
}
