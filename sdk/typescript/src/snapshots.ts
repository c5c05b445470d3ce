/** What was kept of sandboxes: files as they were at one moment and, of machines that ran, memory. */
import type { CallOptions, Connection } from "./connection.js";
import type { CopyOptions, SandboxInfo, Snapshot } from "./records.js";
import { Sandbox } from "./sandbox.js";

export class Snapshots {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Sorted by name. */
  async list(options: CallOptions = {}): Promise<readonly Snapshot[]> {
    const call = { ...options, method: "GET", path: "/snapshots" } as const;
    return (await this.#connection.data<{ snapshots: readonly Snapshot[] }>(call)).snapshots;
  }

  async get(name: string, options: CallOptions = {}): Promise<Snapshot> {
    return await this.#connection.data<Snapshot>({ ...options, method: "GET", path: pathOf(name) });
  }

  /** Sandboxes that were made of it stay. */
  async remove(name: string, options: CallOptions = {}): Promise<void> {
    await this.#connection.data({ ...options, method: "DELETE", path: pathOf(name) });
  }

  /** Makes a sandbox of it, and starts it unless `start` is false. */
  async restore(
    snapshot: string,
    name: string,
    { start, memory, ...options }: CopyOptions & CallOptions = {},
  ): Promise<Sandbox> {
    const json = { name, start, memory };
    const call = { ...options, method: "POST", path: `${pathOf(snapshot)}/restore`, json } as const;
    return new Sandbox(this.#connection, await this.#connection.data<SandboxInfo>(call));
  }
}

function pathOf(name: string): string {
  return `/snapshots/${encodeURIComponent(name)}`;
}
