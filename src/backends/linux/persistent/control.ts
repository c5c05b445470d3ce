/**
 * One connection to the supervisor of a kept sandbox: orders go out, answers come back in the same order, and what
 * nobody asked for (the end, another owner) is an event.
 */
import type { Socket } from "node:net";
import type { Layer, SandboxEnd, SandboxUsage } from "../../../core/backend.js";
import { type Deferred, deferred } from "../../../core/deferred.js";
import { AgentKernelError } from "../../../core/errors.js";
import {
  type Fields,
  failure,
  isFields,
  layer,
  list,
  number,
  numberOrNull,
  sandboxEnd,
  unexpected,
} from "../jail-events.js";
import { connectControl } from "./control-socket.js";

/** How a connection ended: with the sandbox, with another owner, or without a word. */
export type ControlEnd =
  | { readonly how: "ended"; readonly end: SandboxEnd }
  | { readonly how: "replaced" }
  | { readonly how: "closed" };

interface SupervisorStatus {
  readonly paused: boolean;
  readonly startedAtMs: number;
  readonly layers: readonly Layer[];
  readonly usage: SandboxUsage;
}

/** A status with the longest list of layers is far below this. */
const MAX_LINE_CHARS = 1 << 20;

export class Control {
  /** Never rejects. */
  readonly over: Promise<ControlEnd>;
  readonly #socket: Socket;
  readonly #over = deferred<ControlEnd>();
  readonly #pending: Deferred<Fields>[] = [];
  #isOver = false;
  #failure: AgentKernelError | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.over = this.#over.promise;
    // The connection's close tells.
    socket.on("error", () => {});
    socket.on("close", () => this.#finish({ how: "closed" }));
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
      try {
        for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n")) {
          const line = text.slice(0, at);
          text = text.slice(at + 1);
          this.#take(line);
        }
        if (text.length > MAX_LINE_CHARS) throw unexpected("too much at once");
      } catch (error) {
        this.#pending.shift()?.reject(error);
        socket.destroy();
      }
    });
  }

  /** null where nobody listens. */
  static async connect(stateDir: string): Promise<Control | null> {
    return await connectControl(stateDir, (socket) => new Control(socket));
  }

  /** Rejects with what the supervisor says, or when the connection ends before it says anything. */
  async ask(order: object): Promise<Fields> {
    if (this.#socket.destroyed) throw gone();
    const answer = deferred<Fields>();
    this.#pending.push(answer);
    this.#socket.write(`${JSON.stringify(order)}\n`);
    return await answer.promise;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The failure at the sandbox's end, where no order was answered with it. */
  get failure(): AgentKernelError | null {
    return this.#failure;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(line: string): void {
    const fields: unknown = JSON.parse(line);
    if (!isFields(fields)) throw unexpected(line);
    if (fields.event === "ended") this.#finish({ how: "ended", end: sandboxEnd(fields) });
    else if (fields.event === "replaced") this.#finish({ how: "replaced" });
    else if (fields.event === "failed") this.#fail(failure(fields));
    else this.#pending.shift()?.resolve(fields);
  }

  /** An order that failed, or with none open, the sandbox's end. */
  #fail(error: AgentKernelError): void {
    const order = this.#pending.shift();
    if (order) order.reject(error);
    else this.#failure = error;
  }

  #finish(end: ControlEnd): void {
    this.#isOver = true;
    this.#over.resolve(end);
    for (const pending of this.#pending.splice(0)) pending.reject(gone());
    this.#socket.destroy();
  }
}

export function readStatus(fields: Fields): SupervisorStatus {
  const { paused, usage } = fields;
  if (!isFields(usage) || typeof paused !== "boolean") throw unexpected(JSON.stringify(fields));
  return {
    paused,
    startedAtMs: number(fields, "startedAtMs"),
    layers: list(fields.layers).map(layer),
    usage: {
      memoryBytes: numberOrNull(usage.memoryBytes),
      memoryPeakBytes: numberOrNull(usage.memoryPeakBytes),
      cpuUs: numberOrNull(usage.cpuUs),
      processes: numberOrNull(usage.processes),
      oomKills: number(usage, "oomKills"),
      pidsDenied: number(usage, "pidsDenied"),
    },
  };
}

function gone(): AgentKernelError {
  return new AgentKernelError("sandbox_died", "the process that owns the sandbox is gone, or obeys another owner");
}
