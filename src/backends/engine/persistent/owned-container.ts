/** A running container that outlives its owner, as its present owner has it. */
import type { Duplex } from "node:stream";
import { PassThrough } from "node:stream";
import type {
  CarryReport,
  Layer,
  PersistentEnding,
  PersistentSandbox,
  PersistentStatus,
  SandboxEnd,
} from "../../../core/backend.js";
import { deferred } from "../../../core/deferred.js";
import { AgentKernelError } from "../../../core/errors.js";
import { within } from "../../../core/within.js";
import type { Container } from "../container.js";
import { nothingKnown, usageOf } from "../usage.js";
import { Claim } from "./claim.js";
import { endOf } from "./end.js";
import { type ContainerRecord, writeEnd } from "./record.js";

/** What a process that carries a stream counts for: it and its thread. */
const CARRIER_TASKS = 2;
/** What is left of a stop after its grace time. */
const LAST_WAIT_MS = 2000;

interface OwnedParts {
  readonly container: Container;
  readonly stateDir: string;
  readonly record: ContainerRecord;
  /** Of a synced project: takes its changes over once it has been stopped. */
  readonly carry: (() => Promise<CarryReport>) | null;
}

export class OwnedContainer implements PersistentSandbox {
  readonly layers: readonly Layer[];
  readonly startedAtMs: number;
  readonly over: Promise<PersistentEnding>;
  readonly #container: Container;
  readonly #stateDir: string;
  readonly #user: ContainerRecord["user"];
  readonly #claim: Claim;
  readonly #gone: Promise<unknown>;
  readonly #over = deferred<PersistentEnding>();
  readonly #carry: OwnedParts["carry"];
  #isStopping = false;
  #notCarried: unknown = null;
  #stream: Duplex | null = null;

  constructor({ container, stateDir, record, carry }: OwnedParts) {
    this.#container = container;
    this.#carry = carry;
    this.#stateDir = stateDir;
    this.layers = record.layers;
    this.startedAtMs = record.startedAtMs;
    this.#user = record.user;
    this.#claim = new Claim(stateDir);
    this.over = this.#over.promise;
    void this.#claim.lost.then(() => this.#leave({ how: "replaced" }));
    this.#gone = container.awaitEnd();
    void this.#watch();
  }

  async connect(): Promise<Duplex> {
    if (!this.#claim.isMine) return closedStream();
    const { uid, gid } = this.#user;
    this.#stream?.destroy();
    const stream = await this.#container.execEntry(["connect"], `${uid}:${gid}`);
    this.#stream = stream;
    return stream;
  }

  async status(): Promise<PersistentStatus> {
    const state = await this.#container.inspect();
    if (state === null || state.pid === 0) return { paused: false, usage: nothingKnown };
    const usage = usageOf(state.pid, this.#container.id);
    const carriers = this.#stream !== null && !this.#stream.destroyed ? CARRIER_TASKS : 0;
    const processes = usage.processes === null ? null : Math.max(1, usage.processes - carriers);
    return { paused: state.isPaused, usage: { ...usage, processes } };
  }

  async pause(): Promise<void> {
    this.#refuseIfReplaced();
    await this.#container.pause();
  }

  async resume(): Promise<void> {
    this.#refuseIfReplaced();
    await this.#container.resume();
  }

  async stop(graceMs: number): Promise<SandboxEnd> {
    this.#refuseIfReplaced();
    await this.#wake();
    const { uid, gid } = this.#user;
    const asked = await this.#container.execEntry(["stop", String(graceMs)], `${uid}:${gid}`);
    asked.on("error", () => {}).resume();
    this.#isStopping = true;
    await within(graceMs + LAST_WAIT_MS, this.#gone, () => this.#container.kill());
    const end = await this.#ended();
    if (this.#notCarried !== null) throw this.#notCarried;
    return end;
  }

  async kill(): Promise<SandboxEnd> {
    this.#refuseIfReplaced();
    await this.#wake();
    await this.#container.kill();
    return await this.#ended();
  }

  release(): void {
    this.#leave({ how: "released" });
  }

  /** Nothing in a container that is paused can be told anything, not even to end. */
  async #wake(): Promise<void> {
    if ((await this.#container.inspect())?.isPaused === true) await this.#container.resume();
  }

  async #ended(): Promise<SandboxEnd> {
    const over = await this.over;
    if (over.how === "ended") return over.end;
    if (over.how === "lost") throw new AgentKernelError("sandbox_died", "the sandbox's container is gone");
    throw replaced();
  }

  async #watch(): Promise<void> {
    try {
      await this.#gone;
      const state = await this.#container.inspect();
      if (!this.#claim.isMine) return;
      if (state === null) this.#lose();
      else {
        const end = { ...endOf(state.exitCode), carried: await this.#carried() };
        writeEnd(this.#stateDir, { atMs: Date.now(), lost: false, end });
        // Its last words may still be on their way; the stream ends by itself behind them.
        this.#claim.close();
        this.#over.resolve({ how: "ended", end });
      }
    } catch {
      // The engine is gone, and nobody saw what became of its containers.
      if (this.#claim.isMine) this.#lose();
    }
  }

  /** A stop takes them over; after any other end they wait for the next stop. */
  async #carried(): Promise<CarryReport | null> {
    if (!this.#isStopping || this.#carry === null) return null;
    try {
      return await this.#carry();
    } catch (error) {
      this.#notCarried = error;
      return null;
    }
  }

  #lose(): void {
    writeEnd(this.#stateDir, { atMs: Date.now(), lost: true, end: endOf(null) });
    this.#leave({ how: "lost" });
  }

  /** What was sent so far still counts. */
  #leave(how: PersistentEnding): void {
    this.#claim.close();
    const stream = this.#stream;
    if (stream !== null && !stream.destroyed) stream.end(() => stream.destroy());
    this.#over.resolve(how);
  }

  #refuseIfReplaced(): void {
    if (!this.#claim.isMine) throw replaced();
  }
}

/** Who asked is to see it close. */
function closedStream(): Duplex {
  const stream = new PassThrough();
  setImmediate(() => stream.destroy());
  return stream;
}

function replaced(): AgentKernelError {
  return new AgentKernelError("conflict", "the sandbox has another owner now", { hint: "ask that one" });
}
