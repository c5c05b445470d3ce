/**
 * Sandboxes that are paused when their time is up. Those that are removed then have a time to live of their own, which
 * the runtime watches.
 */
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import type { Records } from "./records.js";

/** How long commands may take to end where memory is not kept. */
const GRACE_MS = 5000;
/** Timers do not run while the computer sleeps, and take no longer than 24 days. */
const LOOK_AGAIN_MS = 5 * 60_000;

export class Timeouts {
  readonly #records: Records;
  readonly #onRemark: (line: string) => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(records: Records, onRemark: (line: string) => void) {
    this.#records = records;
    this.#onRemark = onRemark;
  }

  /** Its record has changed. */
  watch(sandbox: Sandbox): void {
    clearTimeout(this.#timers.get(sandbox.name));
    this.#timers.delete(sandbox.name);
    const record = this.#records.of(sandbox);
    if (record?.onTimeout !== "pause" || sandbox.state !== "running") return;
    const leftMs = Math.max(0, Math.min(record.endAtMs - Date.now(), LOOK_AGAIN_MS));
    this.#timers.set(sandbox.name, setTimeout(() => this.#look(sandbox), leftMs).unref());
  }

  #look(sandbox: Sandbox): void {
    const record = this.#records.of(sandbox);
    if (record === undefined || record.endAtMs > Date.now() || sandbox.state !== "running") {
      this.watch(sandbox);
      return;
    }
    const done = record.pausesMemory ? sandbox.pause() : sandbox.stop({ graceMs: GRACE_MS });
    done.catch((error: unknown) => {
      this.#onRemark(`${sandbox.name}: its time is up, and it could not be paused: ${String(error)}`);
    });
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
