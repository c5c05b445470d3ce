/** Wakes a machine that waits: it becomes somebody's, and its first program waits for its order. */
import type { Duplex } from "node:stream";
import { AgentKernelError } from "../../core/errors.js";
import { within } from "../../core/within.js";
import { awaitEntry, awaitWaiting, sendMessage } from "../entry/talk.js";
import type { MachineStream } from "./machine-stream.js";
import type { MachineStart } from "./monitor-jail.js";
import type { MachineShape } from "./shape.js";

/** Until it answers; one that boots first needs longer. */
const WAKE_MS = 60_000;
const BOOT_MS = 180_000;

/** A machine that is being filled and does not move for so long, or twice as long at most, has stopped. */
const STALLED_MS = 150_000;

interface WokenAs {
  readonly start: MachineStart;
  readonly shape: MachineShape;
}

/** By its length alone, which no wake message has (native/init/src/stream.rs). */
const REHEARSE = Buffer.alloc(1);

/**
 * Has a machine that waits start a command that is nobody's. Under emulation code costs most when it runs for the first
 * time, and whoever takes the machine does not pay for that then.
 */
export async function rehearse(stream: Duplex): Promise<void> {
  const done = Promise.all([awaitWaiting(stream), sendMessage(stream, REHEARSE)]);
  done.catch(() => {});
  await within(WAKE_MS, done, () => {
    throw unanswered(WAKE_MS);
  });
}

export async function wakeUp(stream: Duplex, message: Buffer, { start, shape }: WokenAs): Promise<void> {
  const isCold = start.does === "boot";
  const sent = sendMessage(stream, ...(isCold ? [Buffer.from(shape.first)] : []), message);
  const woken = Promise.all([awaitEntry(stream, "waiting"), sent]);
  const ms = isCold ? BOOT_MS : WAKE_MS;
  woken.catch(() => {});
  await within(ms, woken, () => {
    throw unanswered(ms);
  });
}

function unanswered(ms: number): AgentKernelError {
  return new AgentKernelError("sandbox_start_failed", `the machine did not answer within ${ms / 1000} s`, {
    hint: "the host may have no time for it: try again, or look at `agentkernel doctor`",
  });
}

/** `work` on the stream, which rejects where nothing comes or goes on it any more. */
export async function unlessStalled<T>(
  stream: Pick<MachineStream, "movedBytes">,
  work: Promise<T>,
  stalledMs = STALLED_MS,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const stalled = new Promise<never>((_, reject) => {
    let before = stream.movedBytes;
    timer = setInterval(() => {
      const now = stream.movedBytes;
      if (now === before) reject(hasStopped(stalledMs));
      before = now;
    }, stalledMs);
  });
  try {
    return await Promise.race([work, stalled]);
  } finally {
    clearInterval(timer);
  }
}

function hasStopped(ms: number): AgentKernelError {
  const message = `the machine stopped while it was being set up: nothing moved for ${ms / 1000} s`;
  return new AgentKernelError("sandbox_start_failed", message, {
    hint: "the host may have no time for it: try again, or look at `agentkernel doctor`",
  });
}
