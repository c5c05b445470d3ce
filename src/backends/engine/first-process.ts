/**
 * The first process of a container, as the kernel has it, where the engine runs in this very kernel. When it is gone so
 * is everything that ran in the container: the kernel lets the first process of a namespace go as the last one. An
 * engine says the same tens of milliseconds later, when it has begun to take the container apart.
 */
import { setTimeout } from "node:timers/promises";
import type { SandboxUsage } from "../../core/backend.js";
import { holderState, markOf } from "../../core/process-mark.js";
import { isOfThisKernel, usageOf } from "./usage.js";

/** How often it is looked at: nothing tells Node of the end of a process that is not its child. */
const STEP_MS = 1;
/** A process that was told to end takes a few milliseconds; one that takes longer is looked at less often. */
const SHORT_STEPS = 30;
const LONG_STEP_MS = 10;

export class FirstProcess {
  readonly #pid: number;
  readonly #container: string;
  readonly #mark: string;

  private constructor(pid: number, container: string, mark: string) {
    this.#pid = pid;
    this.#container = container;
    this.#mark = mark;
  }

  /** Null where it cannot be seen from here: it has ended, or its number is another kernel's. */
  static find(pid: number, container: string): FirstProcess | null {
    if (pid === 0 || process.platform !== "linux" || !isOfThisKernel(pid, container)) return null;
    const mark = markOf(pid);
    // Once more: the number may have come again before it was marked, and is not the container's then.
    return mark !== null && isOfThisKernel(pid, container) ? new FirstProcess(pid, container, mark) : null;
  }

  get usage(): SandboxUsage {
    return usageOf(this.#pid, this.#container);
  }

  /** Resolves when it is gone, or nobody wants to know any more. */
  async gone(unless: AbortSignal): Promise<void> {
    for (let step = 0; !unless.aborted && holderState(this.#mark) !== "dead"; step++) {
      await setTimeout(step < SHORT_STEPS ? STEP_MS : LONG_STEP_MS);
    }
  }
}
