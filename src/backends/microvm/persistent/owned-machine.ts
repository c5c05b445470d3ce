/** A machine that stays while it is ours: the jail around its monitor is a kept one, and so is who owns it. */
import type { Duplex } from "node:stream";
import type {
  CarryReport,
  Layer,
  PersistentEnding,
  PersistentSandbox,
  PersistentStatus,
  SandboxEnd,
} from "../../../core/backend.js";
import type { HeartbeatTiming } from "../../../core/heartbeat-timing.js";
import { within } from "../../../core/within.js";
import type { OwnedSandbox } from "../../linux/persistent/owned-sandbox.js";
import { machineEnd } from "../machine-report.js";
import { memoryMib } from "../shape.js";
import { GuestPort } from "./guest-port.js";
import { HeldMachine } from "./held-machine.js";
import { noteOfEnd } from "./last-end.js";
import type { MachineRecord } from "./record.js";
import { syncMachine } from "./task.js";

/** Time for the last flush before a kill. */
const LAST_SYNC_MS = 3000;

interface OwnedParts {
  readonly jail: OwnedSandbox;
  readonly stateDir: string;
  readonly record: MachineRecord;
  /** Of a synced project: takes its changes over once it has been stopped. */
  readonly carry: (() => Promise<CarryReport>) | null;
  readonly heartbeat: HeartbeatTiming;
}

/** What is known of one that was just started. */
export type StartedMachine = Pick<OwnedParts, "jail" | "record">;

export class OwnedMachine implements PersistentSandbox {
  readonly layers: readonly Layer[];
  readonly startedAtMs: number;
  readonly heartbeat: HeartbeatTiming;
  readonly over: Promise<PersistentEnding>;
  readonly hold?: (signal?: AbortSignal) => Promise<HeldMachine>;
  readonly #jail: OwnedSandbox;
  readonly #stateDir: string;
  readonly #memoryMib: number;
  readonly #carry: OwnedParts["carry"];
  #isStopping = false;
  #notCarried: unknown = null;
  #whyKilled: string | null = null;

  constructor({ jail, stateDir, record, carry, heartbeat }: OwnedParts) {
    this.layers = record.layers;
    this.startedAtMs = jail.startedAtMs;
    this.heartbeat = heartbeat;
    this.#jail = jail;
    this.#stateDir = stateDir;
    this.#memoryMib = memoryMib(record.resources);
    this.#carry = carry;
    const { marks } = record;
    if (marks !== undefined) this.hold = (signal) => HeldMachine.of(stateDir, marks, signal);
    this.over = jail.over.then((over) => this.#overBy(over));
  }

  async connect(): Promise<Duplex> {
    return new GuestPort(await this.#jail.connect()).on("error", () => {});
  }

  async status(): Promise<PersistentStatus> {
    const { paused, usage } = await this.#jail.status();
    const most = this.#memoryMib * 2 ** 20;
    const bounded = (bytes: number | null) => (bytes === null ? null : Math.min(bytes, most));
    const { memoryBytes, memoryPeakBytes, ...rest } = usage;
    return {
      paused,
      usage: { ...rest, memoryBytes: bounded(memoryBytes), memoryPeakBytes: bounded(memoryPeakBytes) },
    };
  }

  /** Flushes its writes and pauses it, so that the disk can be copied. */
  async pause(): Promise<void> {
    if ((await this.#jail.status()).paused) return;
    await syncMachine(this.#stateDir);
    await this.#jail.pause();
  }

  async resume(): Promise<void> {
    await this.#jail.resume();
  }

  async stop(graceMs: number): Promise<SandboxEnd> {
    this.#isStopping = true;
    await this.#jail.stop(graceMs);
    const end = await this.#ended();
    if (this.#notCarried !== null) throw this.#notCarried;
    return end;
  }

  /** Flushes its writes, unless it no longer answers, and kills it. */
  async kill(why?: string): Promise<SandboxEnd> {
    this.#whyKilled ??= why ?? null;
    const { paused } = await this.#jail.status().catch(() => ({ paused: true }));
    // What does not answer, in time or at all, is killed all the same.
    const synced = paused ? Promise.resolve() : syncMachine(this.#stateDir).catch(() => {});
    await within(LAST_SYNC_MS, synced, () => {});
    await this.#jail.kill();
    return await this.#ended();
  }

  release(): void {
    this.#jail.release();
  }

  /** Behind the jail's own answer, which rejects where it has none. */
  async #ended(): Promise<SandboxEnd> {
    const over = await this.over;
    if (over.how === "ended") return over.end;
    return await this.#jail.kill();
  }

  async #overBy(over: PersistentEnding): Promise<PersistentEnding> {
    if (over.how !== "ended") return over;
    const end = machineEnd(over.end, { memoryMib: this.#memoryMib });
    const said = this.#whyKilled === null ? {} : { said: this.#whyKilled };
    // Whoever asks later hears it too, unless the disk is full.
    if (this.#whyKilled !== null) await noteOfEnd(this.#stateDir, said).catch(() => {});
    return { how: "ended", end: { ...end, ...said, ...(await this.#carried()) } };
  }

  /** A stop takes them over; after any other end they wait for the next stop. */
  async #carried(): Promise<{ readonly carried?: CarryReport }> {
    if (!this.#isStopping || this.#carry === null) return {};
    try {
      return { carried: await this.#carry() };
    } catch (error) {
      this.#notCarried = error;
      return {};
    }
  }
}
