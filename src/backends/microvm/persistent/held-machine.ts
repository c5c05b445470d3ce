/**
 * A machine that stands still with its memory saved beside its disk, for as long as the connection that asked for it
 * lasts (native/vmm/src/qemu/snapshot_hold.rs): whatever ends this process, the machine goes on.
 */
import type { Duplex } from "node:stream";
import type { HeldStill } from "../../../core/backend.js";
import { deferred } from "../../../core/deferred.js";
import { AgentKernelError } from "../../../core/errors.js";
import { within } from "../../../core/within.js";
import { emptyMemory, type MemoryMarks } from "./memory.js";
import { expect, streamTo } from "./task.js";

/** Time to flush its disk and then to save all of its memory to a file. */
const SAVED_MS = 600_000;
const GOES_ON_MS = 60_000;

export class HeldMachine implements HeldStill {
  /** Of what was saved. */
  readonly marks: MemoryMarks;
  readonly #stateDir: string;
  readonly #stream: Duplex;
  #over: Promise<void> | null = null;

  private constructor(stateDir: string, marks: MemoryMarks, stream: Duplex) {
    this.#stateDir = stateDir;
    this.marks = marks;
    this.#stream = stream;
  }

  static async of(stateDir: string, marks: MemoryMarks, signal?: AbortSignal): Promise<HeldMachine> {
    signal?.throwIfAborted();
    await emptyMemory(stateDir);
    const stream = await streamTo(stateDir, "hold");
    const held = new HeldMachine(stateDir, marks, stream);
    const givenUp = deferred<never>();
    const giveUp = () => givenUp.reject(signal?.reason);
    givenUp.promise.catch(() => {});
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      const saved = expect(stream, "saved");
      saved.catch(() => {});
      await within(SAVED_MS, Promise.race([saved, givenUp.promise]), () => {
        throw new AgentKernelError("internal", `the machine's memory was not saved within ${SAVED_MS / 1000} s`, {
          hint: "the host's disk may be slow: try again, or copy its files alone with --no-memory",
        });
      });
      return held;
    } catch (error) {
      // Not before QEMU writes no more: what it had saved is emptied then.
      await held.letGo();
      throw signal?.aborted ? signal.reason : error;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  letGo(): Promise<void> {
    this.#over ??= this.#end();
    return this.#over;
  }

  /** Whoever runs the machine closes the connection when it goes on. */
  async #end(): Promise<void> {
    const stream = this.#stream;
    const closed = new Promise<void>((resolve) => {
      if (stream.destroyed) resolve();
      else stream.once("close", resolve).once("end", resolve);
    });
    stream.resume();
    stream.end();
    await within(GOES_ON_MS, closed, () => {});
    stream.destroy();
    // What cannot be emptied now is by the next who saves, or starts it.
    await emptyMemory(this.#stateDir).catch(() => {});
  }
}
