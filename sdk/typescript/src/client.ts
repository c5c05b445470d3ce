/** A server of agentkernel, as a program uses it. */
import { commandCall } from "./commands.js";
import { type CallOptions, Connection, type ConnectionOptions } from "./connection.js";
import { ApiError, type ApiErrorBody } from "./errors.js";
import { type CommandEvent, commandEvents } from "./events.js";
import { localUrl } from "./place.js";
import type { CreateOptions, Health, RunOptions, RunResult, Version } from "./records.js";
import { Session } from "./sandbox.js";
import { createSandbox, Sandboxes } from "./sandboxes.js";
import { Snapshots } from "./snapshots.js";

export interface BatchCommand extends RunOptions {
  readonly command: readonly string[];
}

type BatchItem =
  | { readonly success: true; readonly data: RunResult }
  | { readonly success: false; readonly error: ApiErrorBody };

export interface LocalOptions extends Omit<ConnectionOptions, "baseUrl" | "fetch" | "apiKey"> {
  /** The command line; otherwise AGENTKERNEL_PROGRAM, else `agentkernel` on the PATH. */
  readonly program?: string | undefined;
}

/** Of a session whose program died, so that nothing is left for ever. */
const SESSION_TTL = "24h";

export class AgentKernel implements AsyncDisposable {
  readonly sandboxes: Sandboxes;
  readonly snapshots: Snapshots;
  readonly #connection: Connection;

  constructor(options: ConnectionOptions = {}) {
    this.#connection = new Connection(options);
    this.sandboxes = new Sandboxes(this.#connection);
    this.snapshots = new Snapshots(this.#connection);
  }

  /**
   * The user's own daemon on this machine, which is started where none is up; such a one ends after an hour with nothing
   * to do. AGENTKERNEL_BASE_URL has no say.
   */
  static async local({ program, ...options }: LocalOptions = {}): Promise<AgentKernel> {
    return new AgentKernel({ ...options, baseUrl: await localUrl(program) });
  }

  /** Runs a command in a sandbox of its own. A command that fails is a result too: `exitCode` says how it ended. */
  async run(command: readonly string[], options: RunOptions & CallOptions = {}): Promise<RunResult> {
    return await this.#connection.data<RunResult>({ method: "POST", path: "/run", ...commandCall(command, options) });
  }

  /** The same, heard while it runs. Leaving the loop ends the command. */
  stream(command: readonly string[], options: RunOptions & CallOptions = {}): AsyncGenerator<CommandEvent, void> {
    const call = { ...commandCall(command, options), commandMs: 0 };
    return commandEvents(this.#connection.events({ method: "POST", path: "/run/stream", ...call }));
  }

  /** Several side by side, each in a sandbox of its own. One that could not be run has its error in its place. */
  async batch(
    commands: readonly BatchCommand[],
    { parallel, ...options }: CallOptions & { readonly parallel?: number | undefined } = {},
  ): Promise<readonly (RunResult | ApiError)[]> {
    const calls = commands.map(({ command, ...one }) => commandCall(command, one));
    const { results } = await this.#connection.data<{ results: readonly BatchItem[] }>({
      ...options,
      method: "POST",
      path: "/batch/run",
      json: { commands: calls.map(({ json }) => json), ...(parallel === undefined ? {} : { parallel }) },
      commandMs: calls.reduce((total, { commandMs }) => total + commandMs, 0),
    });
    return results.map((item) => (item.success ? item.data : new ApiError(item.error)));
  }

  /** A sandbox for many commands, which is removed when it is closed, and after a day in any case (`ttl`). */
  async session(options: CreateOptions & CallOptions = {}): Promise<Session> {
    const name = `session-${crypto.randomUUID()}`;
    const info = await createSandbox(this.#connection, name, { ttl: SESSION_TTL, ...options });
    return new Session(this.#connection, info);
  }

  async health(options: CallOptions = {}): Promise<Health> {
    return await this.#connection.data<Health>({ ...options, method: "GET", path: "/health" });
  }

  async version(options: CallOptions = {}): Promise<Version> {
    return await this.#connection.data<Version>({ ...options, method: "GET", path: "/version" });
  }

  /** Lets its connections go. Sessions are closed on their own. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
