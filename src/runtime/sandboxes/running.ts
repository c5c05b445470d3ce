/**
 * One run of a kept sandbox, from its start or adoption to its end: the connection to its guest, its way out and its
 * published ports. It ends with the sandbox, or is let go of while the sandbox runs on.
 */
import type { Duplex } from "node:stream";
import type { Layer, PersistentEnding, PersistentSandbox, SandboxEnd } from "../../core/backend.js";
import type { AgentKernelError } from "../../core/errors.js";
import { within } from "../../core/within.js";
import { GuestSession, KEPT_WINDOW_BYTES } from "../../guest/index.js";
import { closePorts, type OpenPort, openPorts, type PublishedPort } from "../published-ports.js";
import type { RunEgress } from "../run-egress.js";

/** A guest that is gone has said everything; what is still to be read takes no longer than this. */
const LAST_WORDS_MS = 1000;

interface RunningParts {
  readonly kept: PersistentSandbox;
  readonly egress: RunEgress | null;
  /** Called when somebody connects to a published port; what it returns, when that is over. */
  readonly onConnection: () => () => void;
}

export class RunningSandbox {
  readonly kept: PersistentSandbox;
  readonly session: GuestSession;
  readonly egress: RunEgress | null;
  /** Settles when all of it that was ours is closed. Never rejects. */
  readonly over: Promise<PersistentEnding>;
  isPaused = false;
  isOver = false;
  readonly #onConnection: () => () => void;
  #ports: readonly OpenPort[] = [];
  #isReleased = false;
  #isStopping = false;

  private constructor({ kept, egress, onConnection }: RunningParts, stream: Duplex) {
    this.kept = kept;
    this.egress = egress;
    this.#onConnection = onConnection;
    this.session = new GuestSession(stream, {
      windowBytes: KEPT_WINDOW_BYTES,
      ...(egress === null ? {} : { egress: egress.port }),
    });
    this.session.ready.catch(() => {});
    if (kept.heartbeat !== undefined) this.session.watchHeartbeat(kept.heartbeat);
    // A guest that broke the protocol, or does not speak any more, takes its sandbox with it.
    void this.session.ended.then((error) => this.#endWith(error)).catch(() => {});
    this.over = kept.over.then((over) => {
      this.isOver = true;
      return this.#close(over);
    });
  }

  static async open(parts: RunningParts): Promise<RunningSandbox> {
    return new RunningSandbox(parts, await parts.kept.connect());
  }

  get layers(): readonly Layer[] {
    return this.kept.layers;
  }

  get ports(): readonly PublishedPort[] {
    return this.#ports.map(({ address, hostPort, guestPort }) => ({ address, hostPort, guestPort }));
  }

  /** Resolves to whether it was not paused before. */
  async pause(): Promise<boolean> {
    if (this.isPaused) return false;
    await this.holdStill();
    this.isPaused = true;
    return true;
  }

  async resume(): Promise<boolean> {
    if (!this.isPaused) return false;
    await this.letGoOn();
    this.isPaused = false;
    return true;
  }

  /** Whoever had it before had paused it. */
  findPaused(): void {
    this.isPaused = true;
    this.session.excuseSilence();
  }

  /** Nothing in it moves until it is let go on. */
  async holdStill(): Promise<void> {
    this.session.excuseSilence();
    await this.kept.pause().catch((error: unknown) => {
      this.session.expectSigns();
      throw error;
    });
  }

  async letGoOn(): Promise<void> {
    await this.kept.resume();
    this.session.expectSigns();
  }

  async publish(ports: readonly PublishedPort[]): Promise<void> {
    this.#ports = await openPorts(ports, async (port) => {
      const inside = await this.session.connectTcp(port);
      inside.once("close", this.#onConnection());
      return inside;
    });
  }

  /** In order. The guest's end is what was asked for, and no reason to kill it: a killed sandbox carries nothing over. */
  async stop(graceMs: number): Promise<SandboxEnd> {
    this.#isStopping = true;
    try {
      return await this.kept.stop(graceMs);
    } finally {
      this.#isStopping = false;
    }
  }

  async #endWith(error: AgentKernelError | null): Promise<void> {
    if (this.#isReleased || this.#isStopping) return;
    // One that has ended needs no reason of ours.
    await this.kept.kill(this.session.wasLost ? undefined : error?.message);
  }

  /** It runs on without us. */
  release(): void {
    this.#isReleased = true;
    this.kept.release();
    this.session.destroy();
  }

  async #close(over: PersistentEnding): Promise<PersistentEnding> {
    this.#isReleased = true;
    // How its last commands ended may still be on its way.
    if (over.how === "ended") await within(LAST_WORDS_MS, this.session.ended, () => null);
    this.session.destroy();
    await closePorts(this.#ports);
    await this.egress?.close();
    return over;
  }
}
