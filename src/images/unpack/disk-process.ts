/** One run of the native maker of disks, which reads what a hostile image unpacked to in a jail of its own. */
import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { AgentKernelError, errorCodeOf } from "../../core/errors.js";
import { nativeBinary } from "../../core/native-binary.js";
import { ENVIRONMENT, endOf, notStarted, readAll } from "./layer-process.js";

export interface DiskOrder {
  readonly target: string;
  /** The uppermost first. */
  readonly layers: readonly string[];
  readonly maxBytes: number;
}

/** The disk is `root.erofs` in the target. */
export async function makeDisk(order: DiskOrder, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const child = spawn(nativeBinary("ak-unpack"), ["disk"], {
    detached: true,
    env: ENVIRONMENT,
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const ended = endOf(child);
  if (child.pid === undefined) throw await ended.then(() => notStarted(null), notStarted);
  const control = child.stdio[3] as Socket;
  // The end of its orders ends it.
  const stop = (): void => void control.destroy();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    const answer = readAll(control);
    control.write(`${JSON.stringify(order)}\n`);
    const text = await answer;
    await ended;
    signal?.throwIfAborted();
    checkAnswer(text);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

function checkAnswer(text: string): void {
  let answer: Readonly<Record<string, unknown>>;
  try {
    answer = JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw new AgentKernelError("image_invalid", "the maker of disks was killed while it read the image", {
      hint: "the machine may be short of memory; try again",
      cause,
    });
  }
  if (answer.event === "done") return;
  const { code, message, hint } = answer;
  throw new AgentKernelError(errorCodeOf(code), String(message), typeof hint === "string" ? { hint } : {});
}
