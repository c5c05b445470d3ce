/** The sandboxes that stay, by their names. */
import type { CallOptions, Connection } from "./connection.js";
import type { CreateOptions, SandboxInfo } from "./records.js";
import { Sandbox } from "./sandbox.js";
import { toWire } from "./wire.js";

export class Sandboxes {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Makes one, and starts it unless `start` is false. */
  async create(name: string, options: CreateOptions & CallOptions = {}): Promise<Sandbox> {
    return new Sandbox(this.#connection, await createSandbox(this.#connection, name, options));
  }

  async get(name: string, options: CallOptions = {}): Promise<Sandbox> {
    const path = `/sandboxes/${encodeURIComponent(name)}`;
    return new Sandbox(this.#connection, await this.#connection.data<SandboxInfo>({ ...options, method: "GET", path }));
  }

  /** Sorted by name: all, or those in one state. */
  async list({
    state,
    ...options
  }: CallOptions & { readonly state?: SandboxInfo["state"] | undefined } = {}): Promise<readonly SandboxInfo[]> {
    const { sandboxes } = await this.#connection.data<{ sandboxes: readonly SandboxInfo[] }>({
      ...options,
      method: "GET",
      path: "/sandboxes",
      query: { state },
    });
    return sandboxes;
  }
}

export async function createSandbox(
  connection: Connection,
  name: string,
  { signal, requestTimeoutMs, ...options }: CreateOptions & CallOptions,
): Promise<SandboxInfo> {
  return await connection.data<SandboxInfo>({
    signal,
    requestTimeoutMs,
    method: "POST",
    path: "/sandboxes",
    json: { name, ...toWire(options) },
  });
}
