/** One container at the engine, by its id: what can be asked of it and done with it. */
import { AgentKernelError } from "../../core/errors.js";
import { type EngineClient, EngineRefusal } from "./client.js";
import { ENTRY, PROGRAMS } from "./container-spec.js";
import type { Labels } from "./labels.js";
import { MuxedStream } from "./muxed-stream.js";

interface ContainerState {
  readonly pid: number;
  readonly isRunning: boolean;
  readonly isPaused: boolean;
  readonly exitCode: number | null;
  readonly labels: Labels;
  /** Some of what it writes is not in its root. */
  readonly hasVolumes: boolean;
  /** Our programs lie where no process of the container can replace them. */
  readonly hasFixedPrograms: boolean;
}

const NOT_FOUND = 404;
const CONFLICT = 409;
const NO_SUCH_IMAGE = 404;

export class Container {
  readonly id: string;
  readonly #client: EngineClient;
  #hasFixedPrograms: boolean;

  constructor(client: EngineClient, id: string, hasFixedPrograms = false) {
    this.#client = client;
    this.id = id;
    this.#hasFixedPrograms = hasFixedPrograms;
  }

  static async create(client: EngineClient, name: string, spec: object, signal?: AbortSignal): Promise<Container> {
    try {
      const made = await client.post("/containers/create", { query: { name }, body: spec, signal });
      return new Container(client, textField(made, "Id"), true);
    } catch (error) {
      if (!(error instanceof EngineRefusal)) throw error;
      if (error.status === CONFLICT) {
        throw new AgentKernelError("conflict", `the engine has a container ${name} already`, { cause: error });
      }
      const code = error.status === NO_SUCH_IMAGE ? "image_not_found" : "sandbox_start_failed";
      throw new AgentKernelError(code, `the engine makes no container: ${error.message}`, { cause: error });
    }
  }

  /** Its standard streams, from its first byte where it has not been started. */
  async attach(signal?: AbortSignal): Promise<MuxedStream> {
    const query = { stream: "1", stdin: "1", stdout: "1", stderr: "1" };
    try {
      return new MuxedStream(await this.#client.hijack(`${this.#path}/attach`, { query, signal }));
    } catch (error) {
      throw notStarted(error);
    }
  }

  async start(signal?: AbortSignal): Promise<void> {
    try {
      await this.#client.post(`${this.#path}/start`, { signal });
    } catch (error) {
      throw notStarted(error);
    }
  }

  /** Null where there is no such container. */
  async inspect(): Promise<ContainerState | null> {
    const found = await this.#unlessGone(this.#client.get(`${this.#path}/json`));
    return found === null ? null : stateOf(found);
  }

  /** How long the files are that it has written, holes included; null where the engine does not tell. */
  async writtenBytes(): Promise<number | null> {
    const found = await this.#unlessGone(this.#client.get(`${this.#path}/json`, { query: { size: "1" } }));
    const bytes: unknown = found === null ? null : Reflect.get(found, "SizeRw");
    return typeof bytes === "number" ? bytes : null;
  }

  /** Resolves with its exit status when it has ended; null where nobody can tell. */
  async awaitEnd(): Promise<number | null> {
    const answer = await this.#unlessGone(
      this.#client.post(`${this.#path}/wait`, { query: { condition: "not-running" } }),
    );
    const status: unknown = answer === null ? null : Reflect.get(answer, "StatusCode");
    return typeof status === "number" ? status : null;
  }

  /** At once, with all that is in it. It may be gone already. */
  async kill(): Promise<void> {
    await this.#unlessGone(this.#client.post(`${this.#path}/kill`, { query: { signal: "KILL" } }));
  }

  async pause(): Promise<void> {
    await this.#client.post(`${this.#path}/pause`);
  }

  async resume(): Promise<void> {
    await this.#client.post(`${this.#path}/unpause`);
  }

  /** With all that it wrote; afterwards it is gone. It may be gone already, or the engine about to remove it. */
  async remove(): Promise<void> {
    await this.#unlessGone(this.#client.delete(this.#path, { query: { force: "1", v: "1" } }));
    await this.#unlessGone(this.#client.post(`${this.#path}/wait`, { query: { condition: "removed" } }));
  }

  /**
   * Refuses a container that an earlier version made: it has our programs in a directory that its processes can rename,
   * and what the engine would run there with every right of the container may be theirs.
   */
  async insistOnFixedPrograms(): Promise<void> {
    this.#hasFixedPrograms ||= (await this.inspect())?.hasFixedPrograms ?? true;
    if (this.#hasFixedPrograms) return;
    const message =
      "its container was made by an earlier version, and could replace the programs that we would run in it";
    throw new AgentKernelError("unsupported", message, {
      hint: `copy out what you need with the engine's own \`cp ${this.id.slice(0, 12)}:/workspace DIR\`, remove the sandbox, and create it again`,
    });
  }

  /** Starts `ak-entry` in it with these words, and carries its standard streams. */
  async execEntry(words: readonly string[], user: string): Promise<MuxedStream> {
    await this.insistOnFixedPrograms();
    const streams = { AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: false };
    const body = { ...streams, Cmd: [ENTRY, ...words], User: user };
    const made = await this.#client.post(`${this.#path}/exec`, { body });
    const socket = await this.#client.hijack(`/exec/${textField(made, "Id")}/start`, {
      body: { Detach: false, Tty: false },
    });
    return new MuxedStream(socket);
  }

  get #path(): string {
    return `/containers/${this.id}`;
  }

  async #unlessGone(asked: Promise<unknown>): Promise<object | null> {
    try {
      const answer = await asked;
      return typeof answer === "object" ? answer : null;
    } catch (error) {
      // It is being removed, or does not run: what was to be done is done.
      if (error instanceof EngineRefusal && (error.status === NOT_FOUND || error.status === CONFLICT)) return null;
      throw error;
    }
  }
}

function stateOf(found: object): ContainerState {
  const state: unknown = Reflect.get(found, "State");
  const config: unknown = Reflect.get(found, "Config");
  if (typeof state !== "object" || state === null)
    throw new AgentKernelError("internal", "a container without a state");
  const pid: unknown = Reflect.get(state, "Pid");
  const mounts: unknown = Reflect.get(found, "Mounts");
  const code: unknown = Reflect.get(state, "ExitCode");
  const labels: unknown = typeof config === "object" && config !== null ? Reflect.get(config, "Labels") : null;
  return {
    pid: typeof pid === "number" ? pid : 0,
    isRunning: Reflect.get(state, "Running") === true,
    isPaused: Reflect.get(state, "Paused") === true,
    exitCode: typeof code === "number" ? code : null,
    labels: (labels ?? {}) as Labels,
    hasVolumes: hasMount(mounts, "Type", "volume"),
    hasFixedPrograms: hasMount(mounts, "Destination", PROGRAMS),
  };
}

function hasMount(mounts: unknown, field: string, value: string): boolean {
  if (!Array.isArray(mounts)) return false;
  return mounts.some((one: unknown) => typeof one === "object" && one !== null && Reflect.get(one, field) === value);
}

function notStarted(error: unknown): unknown {
  if (!(error instanceof EngineRefusal)) return error;
  const message = `the engine does not start the container: ${error.message}`;
  return new AgentKernelError("sandbox_start_failed", message, { cause: error });
}

export function textField(value: unknown, name: string): string {
  const found: unknown = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  if (typeof found !== "string") throw new AgentKernelError("internal", `the engine's answer lacks ${name}`);
  return found;
}
