/** A kept sandbox while it is ours. */
import type { Socket } from "node:net";
import type {
  Layer,
  PersistentEnding,
  PersistentSandbox,
  PersistentStatus,
  SandboxEnd,
} from "../../../core/backend.js";
import { AgentKernelError } from "../../../core/errors.js";
import { adoptStream } from "../../../guest/index.js";
import { type Fields, unexpected } from "../jail-events.js";
import type { JailPrograms } from "../jail-process.js";
import { type Control, type ControlEnd, readStatus } from "./control.js";
import { connectControl } from "./control-socket.js";
import { sweepPersistent } from "./jail-command.js";

export class OwnedSandbox implements PersistentSandbox {
  readonly layers: readonly Layer[];
  readonly startedAtMs: number;
  readonly over: Promise<PersistentEnding>;
  readonly #programs: JailPrograms;
  readonly #stateDir: string;
  readonly #control: Control;
  readonly #ticket: string;
  #isReleased = false;

  constructor(programs: JailPrograms, stateDir: string, control: Control, owned: Fields) {
    const { layers, startedAtMs } = readStatus(owned);
    if (owned.event !== "owned" || typeof owned.ticket !== "string") throw unexpected(JSON.stringify(owned));
    this.layers = layers;
    this.startedAtMs = startedAtMs;
    this.#programs = programs;
    this.#stateDir = stateDir;
    this.#control = control;
    this.#ticket = owned.ticket;
    this.over = control.over.then((end) => this.#overBy(end));
  }

  async connect(): Promise<Socket> {
    const stream = await connectControl(this.#stateDir, (socket) => {
      const adopted = adoptStream(socket);
      // Whoever uses it hears of its end.
      adopted.on("error", () => {});
      adopted.write(`${JSON.stringify({ do: "stream", ticket: this.#ticket })}\n`);
      return adopted;
    });
    if (stream === null) throw new AgentKernelError("sandbox_died", "the sandbox has ended");
    return stream;
  }

  async status(): Promise<PersistentStatus> {
    const { paused, usage } = readStatus(await this.#control.ask({ do: "status" }));
    return { paused, usage };
  }

  async pause(): Promise<void> {
    await this.#control.ask({ do: "pause" });
  }

  async resume(): Promise<void> {
    await this.#control.ask({ do: "resume" });
  }

  async stop(graceMs: number): Promise<SandboxEnd> {
    return await this.#end({ do: "stop", graceMs });
  }

  async kill(): Promise<SandboxEnd> {
    return await this.#end({ do: "kill" });
  }

  release(): void {
    this.#isReleased = true;
    this.#control.close();
  }

  async #end(order: object): Promise<SandboxEnd> {
    // An end that was faster than the order is an end.
    const refused = await this.#control.ask(order).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    if (refused !== null && !this.#control.isOver) throw refused.error;
    const over = await this.over;
    if (over.how === "ended") return over.end;
    if (this.#control.failure !== null) throw this.#control.failure;
    if (over.how === "lost") {
      throw new AgentKernelError(
        "sandbox_died",
        "the process that owned the sandbox was killed, and the sandbox with it",
      );
    }
    throw new AgentKernelError("conflict", `the sandbox is not ours any more (${over.how})`);
  }

  async #overBy(end: ControlEnd): Promise<PersistentEnding> {
    if (end.how !== "closed") return end;
    if (this.#isReleased) return { how: "released" };
    try {
      // Its sandbox dies with it, and what it left is cleared away before anybody hears of it.
      if (await sweepPersistent(this.#programs, this.#stateDir)) return { how: "released" };
    } catch {
      // What could not be cleared away is, by the next start or adoption, which says what is wrong.
    }
    return { how: "lost" };
  }
}
