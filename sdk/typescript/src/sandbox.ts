/** One sandbox that stays: what runs in it, its files, and its states. */
import { commandCall } from "./commands.js";
import type { CallOptions, Connection } from "./connection.js";
import { isApiError } from "./errors.js";
import { type CommandEvent, commandEvents } from "./events.js";
import { Files } from "./files.js";
import type {
  Changes,
  CopyOptions,
  DetachedExec,
  Diff,
  ExecLog,
  ExecOptions,
  ExecResult,
  SandboxInfo,
  Snapshot,
  Stats,
} from "./records.js";
import { Terminal } from "./terminal.js";

export interface AttachOptions extends CallOptions {
  /** Width of the terminal (80). */
  readonly cols?: number | undefined;
  /** Height of the terminal (24). */
  readonly rows?: number | undefined;
  /** A program to run instead of a shell. */
  readonly command?: string | undefined;
}

export interface SnapshotOptions {
  readonly name?: string | undefined;
  /** false: files alone, also where memory could be had (true). */
  readonly memory?: boolean | undefined;
}

export class Sandbox {
  readonly name: string;
  readonly files: Files;
  readonly #connection: Connection;
  readonly #path: string;
  #info: SandboxInfo;

  constructor(connection: Connection, info: SandboxInfo) {
    this.#connection = connection;
    this.#info = info;
    this.name = info.name;
    this.#path = `/sandboxes/${encodeURIComponent(info.name)}`;
    this.files = new Files(connection, this.#path);
  }

  /** As it was when it was last asked about or changed from here. */
  get info(): SandboxInfo {
    return this.#info;
  }

  async refresh(options: CallOptions = {}): Promise<SandboxInfo> {
    this.#info = await this.#connection.data<SandboxInfo>({ ...options, method: "GET", path: this.#path });
    return this.#info;
  }

  /** A command that fails is a result too. */
  async exec(command: readonly string[], options: ExecOptions & CallOptions = {}): Promise<ExecResult> {
    const path = `${this.#path}/exec`;
    return await this.#connection.data<ExecResult>({ method: "POST", path, ...commandCall(command, options) });
  }

  /** What the command says, while it runs. Leaving the loop ends the command. */
  execStream(command: readonly string[], options: ExecOptions & CallOptions = {}): AsyncGenerator<CommandEvent, void> {
    const path = `${this.#path}/exec/stream`;
    const call = { ...commandCall(command, options), commandMs: 0 };
    return commandEvents(this.#connection.events({ method: "POST", path, ...call }));
  }

  /** Lets it run on; `logs` has its output and its end. */
  async execDetached(command: readonly string[], options: ExecOptions & CallOptions = {}): Promise<DetachedExec> {
    const { json, ...call } = commandCall(command, options);
    const path = `${this.#path}/exec`;
    return await this.#connection.data<DetachedExec>({
      method: "POST",
      path,
      ...call,
      commandMs: 0,
      json: { ...json, detach: true },
    });
  }

  /** A terminal with a shell in it: `for await (const bytes of terminal) …` is what it shows. */
  async attach({ cols, rows, command, ...options }: AttachOptions = {}): Promise<Terminal> {
    const path = `${this.#path}/attach`;
    const query = { cols, rows, command };
    return new Terminal(await this.#connection.socket({ ...options, method: "GET", path, query }));
  }

  /** Output and end of detached commands, oldest first. */
  async logs({ exec, ...options }: CallOptions & { readonly exec?: string } = {}): Promise<readonly ExecLog[]> {
    const path = `${this.#path}/logs`;
    const { execs } = await this.#connection.data<{ execs: readonly ExecLog[] }>({
      ...options,
      method: "GET",
      path,
      query: { exec },
    });
    return execs;
  }

  async start(options: CallOptions = {}): Promise<SandboxInfo> {
    return await this.#become("start", options);
  }

  /** Ends all that runs in it; its files stay. */
  async stop(options: CallOptions = {}): Promise<SandboxInfo> {
    return await this.#become("stop", options);
  }

  async pause(options: CallOptions = {}): Promise<SandboxInfo> {
    return await this.#become("pause", options);
  }

  async resume(options: CallOptions = {}): Promise<SandboxInfo> {
    return await this.#become("resume", options);
  }

  /** Keeps what it has written and, of a machine that runs, its memory, under this name or one of the server's. */
  async snapshot({ name, memory, ...options }: SnapshotOptions & CallOptions = {}): Promise<Snapshot> {
    const json = { name, memory };
    return await this.#connection.data<Snapshot>({ ...options, method: "POST", path: `${this.#path}/snapshot`, json });
  }

  /** A second sandbox with everything that it has written, which is started unless `start` is false. */
  async fork(name: string, { start, memory, ...options }: CopyOptions & CallOptions = {}): Promise<Sandbox> {
    const json = { name, start, memory };
    const call = { ...options, method: "POST", path: `${this.#path}/fork`, json } as const;
    return new Sandbox(this.#connection, await this.#connection.data<SandboxInfo>(call));
  }

  /** With all that is in it. `force`: also where it runs. */
  async remove({ force, ...options }: CallOptions & { readonly force?: boolean | undefined } = {}): Promise<void> {
    await this.#connection.data({ ...options, method: "DELETE", path: this.#path, query: { force } });
  }

  async stats(options: CallOptions = {}): Promise<Stats> {
    return await this.#connection.data<Stats>({ ...options, method: "GET", path: `${this.#path}/stats` });
  }

  /** What it changed in the project. */
  async diff(options: CallOptions = {}): Promise<Diff> {
    return await this.#connection.data<Diff>({ ...options, method: "GET", path: `${this.#path}/diff` });
  }

  /** The same, as a patch that `git apply` takes. */
  async patch(options: CallOptions = {}): Promise<string> {
    const path = `${this.#path}/diff`;
    return await this.#connection.text({ ...options, method: "GET", path, query: { format: "patch" } });
  }

  /** Takes its changes over into the project on the host: all, or those at and below `paths`. */
  async apply({ paths, ...options }: CallOptions & { readonly paths?: readonly string[] } = {}): Promise<Changes> {
    const path = `${this.#path}/apply`;
    const json = paths === undefined ? {} : { paths };
    return await this.#connection.data<Changes>({ ...options, method: "POST", path, json });
  }

  async #become(action: string, options: CallOptions): Promise<SandboxInfo> {
    const path = `${this.#path}/${action}`;
    this.#info = await this.#connection.data<SandboxInfo>({ ...options, method: "POST", path });
    return this.#info;
  }
}

/** A sandbox that is removed with its owner: `await using session = await client.session()`. */
export class Session extends Sandbox implements AsyncDisposable {
  /** Removes the sandbox, with whatever runs in it. A second call does nothing. */
  async close(): Promise<void> {
    try {
      await this.remove({ force: true });
    } catch (error) {
      if (!isApiError(error, "not_found")) throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
