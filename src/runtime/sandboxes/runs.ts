/**
 * The runs of one kept sandbox, one at a time: how one begins, by a start or an adoption, and how it ends, by whoever
 * ends it. It decides nothing about when; whoever calls it does so one call after the other, but for `kill`.
 */
import type { PersistentEnding, PersistentSandbox } from "../../core/backend.js";
import { within } from "../../core/within.js";
import type { PublishedPort } from "../published-ports.js";
import type { StopReason } from "./events.js";
import type { GuestCommands } from "./guest-commands.js";
import { type Launched, type LaunchParts, launch } from "./launch.js";
import { silentGuest } from "./refusals.js";
import { RunningSandbox } from "./running.js";
import { letGoOn } from "./stillness.js";
import type { HostEnv } from "./types.js";

/** How long the guest of a sandbox that was just started may take to answer. */
const READY_MS = 20_000;

interface RunsParts extends Omit<LaunchParts, "record"> {
  readonly record: () => LaunchParts["record"];
  readonly execs: GuestCommands;
  /** It runs, and that must be on record before anything else happens. */
  readonly onRunning: () => Promise<void>;
  readonly onStopped: (reason: StopReason) => void;
  readonly onConnection: () => () => void;
  /** Whether an earlier process may have left it running. */
  readonly mayRun: boolean;
}

export class Runs {
  readonly #parts: RunsParts;
  #current: RunningSandbox | null = null;
  /** Whether it was found out if it runs. */
  #isKnown: boolean;
  /** What is on record of earlier commands was looked at. */
  #areCommandsLoaded = false;
  /** Why it will have ended, where that is our doing. */
  #reason: StopReason | null = null;
  #isStopping = false;
  /** Settles when the end of the last run is on record. */
  #settled: Promise<void> = Promise.resolve();

  constructor(parts: RunsParts) {
    this.#parts = parts;
    this.#isKnown = !parts.mayRun;
  }

  get current(): RunningSandbox | null {
    return this.#current;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Takes over what an earlier process had started, where it runs. */
  async adopt(): Promise<void> {
    if (this.#isKnown) return;
    const { context, folder, execs, record } = this.#parts;
    const kept = await context.kept.adopt(folder.jail);
    await letGoOn(kept, folder);
    if (kept !== null) await this.#adoptRunning(kept);
    else if (record().hasRun) await execs.load(null);
    // What a copy has on record goes on with its first start, which finds it: until then none of it has ended.
    this.#areCommandsLoaded = kept !== null || record().hasRun;
    this.#isKnown = true;
  }

  async start(hostEnv: HostEnv, signal?: AbortSignal): Promise<void> {
    const { audit, record, execs } = this.#parts;
    const { kept, egress } = await launch({ ...this.#parts, record: record() }, hostEnv, signal);
    try {
      const running = await this.#take(kept, egress);
      // Of a copy with its original's memory: commands go on in it.
      if (!this.#areCommandsLoaded) await execs.load(running.session);
      this.#areCommandsLoaded = true;
      await within(READY_MS, running.session.ready, () => {
        throw silentGuest();
      });
      await running.publish(record().publish);
      audit.records.ready(running.layers);
    } catch (error) {
      audit.records.failed(error);
      await kept.kill().catch(() => {});
      await this.#settled;
      await egress?.close();
      throw error;
    }
  }

  async stop(graceMs: number, reason: StopReason): Promise<void> {
    const running = this.#current;
    if (running === null) return;
    this.#reason ??= reason;
    this.#isStopping = true;
    try {
      await this.#await(running, running.stop(graceMs));
    } finally {
      this.#isStopping = false;
    }
  }

  /** At once, also while a stop waits for its grace time. */
  async kill(): Promise<void> {
    const running = this.#current;
    if (running === null) return;
    this.#reason ??= "killed";
    await this.#await(running, running.kept.kill());
  }

  /** It runs on without us. */
  async release(): Promise<void> {
    const running = this.#current;
    this.#current = null;
    this.#parts.execs.release();
    running?.release();
    await running?.over;
  }

  /** An end that somebody else was faster with is an end. */
  async #await(running: RunningSandbox, ending: Promise<unknown>): Promise<void> {
    const failure = await ending.then(
      () => null,
      (error: unknown) => ({ error }),
    );
    if (failure !== null && !running.isOver) throw failure.error;
    await this.#settled;
  }

  async #adoptRunning(kept: PersistentSandbox): Promise<void> {
    const { secrets, net, audit, context, execs, record, asker } = this.#parts;
    const egress = await secrets.openEgress(record(), net, audit, { hostEnv: context.env, isAdopted: true, asker });
    try {
      const { paused } = await kept.status();
      const running = await this.#take(kept, egress);
      if (paused) running.findPaused();
      await execs.load(running.session);
      await this.#republish(running, record().publish);
    } catch (error) {
      kept.release();
      await egress?.close();
      throw error;
    }
  }

  /** A port that another took meanwhile is no reason to end what runs. */
  async #republish(running: RunningSandbox, ports: readonly PublishedPort[]): Promise<void> {
    const { context, record } = this.#parts;
    await running.publish(ports).catch((error: unknown) => {
      context.say(`${record().name}: its ports could not be opened again: ${String(error)}`);
    });
  }

  /** From here on its end is heard of. */
  async #take(kept: PersistentSandbox, egress: Launched["egress"]): Promise<RunningSandbox> {
    const { onConnection, onRunning } = this.#parts;
    const running = await RunningSandbox.open({ kept, egress, onConnection });
    this.#current = running;
    this.#reason = null;
    this.#settled = running.over.then((over) => this.#ended(running, over));
    await onRunning();
    return running;
  }

  async #ended(running: RunningSandbox, over: PersistentEnding): Promise<void> {
    const { execs, context, audit, record, onStopped } = this.#parts;
    if (this.#current === running) this.#current = null;
    if (over.how === "released") return;
    if (over.how === "replaced") {
      execs.release();
      context.say(`${record().name}: another process owns it now`);
      return;
    }
    await execs.end();
    audit.records.ended(over.how === "ended" ? over.end : null);
    onStopped(this.#reason ?? (over.how === "lost" ? "lost" : "died"));
  }
}
