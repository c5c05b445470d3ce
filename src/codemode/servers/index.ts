/**
 * The MCP servers that code may call, on the host's side of the wall. Owns their connections, and nothing else knows
 * their entries. It never decides whether a call may be made.
 */
import { createHash } from "node:crypto";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { redactor } from "../../core/redact.js";
import { nearest } from "../../policy/nearest.js";
import { uniqueNames } from "../modules/names.js";
import { concealer, credentialsOf } from "./credentials.js";
import { type ServerEntry, secretsOf } from "./entries.js";
import { McpServer, type ToolSchema } from "./server.js";
import type { Surroundings } from "./stdio-transport.js";

export type { ToolSchema } from "./server.js";

/** A server's tools, under the name that code knows it by. */
export interface Catalog {
  readonly server: string;
  readonly module: string;
  readonly tools: readonly ToolSchema[];
  /** Of all that modules are made from. */
  readonly hash: string;
}

export interface Unreachable {
  readonly server: string;
  readonly why: string;
}

interface ServersOptions {
  readonly entries: readonly ServerEntry[];
  readonly around: Surroundings;
  readonly connectTimeoutMs: number;
  readonly callTimeoutMs: number;
}

/** As many are connected to at the same time. */
const AT_ONCE = 8;

export class McpServers {
  readonly #servers: ReadonlyMap<string, McpServer>;
  readonly #modules: ReadonlyMap<string, string>;
  /** Takes out of a text what servers identify themselves with. */
  readonly conceal: (text: string) => string;

  constructor({ entries, around, ...limits }: ServersOptions) {
    const twice = entries.find(({ name }, index) => entries.findIndex((one) => one.name === name) !== index);
    if (twice !== undefined) {
      throw new AgentKernelError("invalid_argument", `there are two MCP servers with the name ${twice.name}`, {
        hint: "give one of them another name",
      });
    }
    this.conceal = concealer(credentialsOf(entries, around.env));
    const redact = redactor(entries.flatMap(secretsOf));
    const made = entries.map((entry) => new McpServer({ entry, around, redact, ...limits }));
    this.#servers = new Map(made.map((server) => [server.name, server]));
    this.#modules = uniqueNames(
      entries.map(({ name }) => name),
      moduleName,
    );
  }

  get names(): readonly string[] {
    return [...this.#servers.keys()];
  }

  moduleOf(server: string): string {
    return this.#modules.get(server) ?? server;
  }

  async catalog(name: string): Promise<Catalog> {
    const tools = await this.#server(name).tools();
    return { server: name, module: this.moduleOf(name), tools, hash: hashOf(tools) };
  }

  /** Of every server that can be reached. */
  async catalogs(
    names = this.names,
  ): Promise<{ readonly catalogs: readonly Catalog[]; readonly lacking: readonly Unreachable[] }> {
    const catalogs: Catalog[] = [];
    const lacking: Unreachable[] = [];
    const left = [...names];
    const work = async () => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        try {
          catalogs.push(await this.catalog(name));
        } catch (error) {
          if (!isAgentKernelError(error)) throw error;
          lacking.push({ server: name, why: error.message });
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return { catalogs: catalogs.sort((a, b) => (a.server < b.server ? -1 : 1)), lacking };
  }

  call(server: string, tool: string, args: object, signal: AbortSignal): Promise<unknown> {
    return this.#server(server).call(tool, args, signal);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  #server(name: string): McpServer {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    const near = nearest(name, this.names);
    throw new AgentKernelError("not_found", `there is no MCP server ${JSON.stringify(name.slice(0, 100))}`, {
      hint: near === null ? `there are: ${this.names.slice(0, 50).join(", ")}` : `did you mean "${near}"?`,
    });
  }
}

function moduleName(server: string): string {
  const name = server
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");
  return /^[a-z]/.test(name) && name !== "runtime" ? name : `server_${name}`;
}

function hashOf(tools: readonly ToolSchema[]): string {
  return createHash("sha256").update(JSON.stringify(tools)).digest("hex");
}
