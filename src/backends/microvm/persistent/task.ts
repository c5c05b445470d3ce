/** Something that is asked of a running machine, beside what its host does (native/init/src/persistent/requests.rs). */
import type { Duplex } from "node:stream";
import { AgentKernelError, errorCodeOf } from "../../../core/errors.js";
import { escapeText } from "../../../core/escape.js";
import { within } from "../../../core/within.js";
import { adoptStream } from "../../../guest/index.js";
import { inTurn } from "../../entry/in-turn.js";
import { hear, sendMessage } from "../../entry/talk.js";
import { connectControl } from "../../linux/persistent/control-socket.js";
import { MachineStream } from "../machine-stream.js";

/** A machine that lives takes one after the other. */
const TAKEN_MS = 60_000;

/** The stream to whoever does it; the caller's to destroy. Another one would take this one's place: each waits its turn. */
export async function sendTask(stateDir: string, task: "sync" | "gather" | "wake"): Promise<Duplex> {
  const stream = await streamTo(stateDir, "errand");
  try {
    const taken = expect(stream, "here");
    taken.catch(() => {});
    await within(TAKEN_MS, taken, () => {
      throw new AgentKernelError("sandbox_died", `the machine did not answer within ${TAKEN_MS / 1000} s`);
    });
    await sendMessage(stream, Buffer.from(JSON.stringify({ do: task })));
    return stream;
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

/** To the machine, or to whoever runs it. */
export async function streamTo(stateDir: string, order: "errand" | "hold"): Promise<Duplex> {
  const stream = await connectControl(stateDir, (socket) => {
    const adopted = adoptStream(socket);
    adopted.on("error", () => {});
    // Whoever waits for an answer hears of its end. A supervisor that is just ending refuses the very first line, and that
    // is told before anybody else could listen.
    const stream = new MachineStream(adopted).on("error", () => {});
    adopted.write(`${JSON.stringify({ do: order })}\n`);
    return stream;
  });
  if (stream === null) throw new AgentKernelError("sandbox_died", "the sandbox has ended");
  return stream;
}

/** Everything that was written in the machine is on its disk. */
export async function syncMachine(stateDir: string): Promise<void> {
  await inTurn(stateDir, async () => {
    const stream = await sendTask(stateDir, "sync");
    try {
      await expect(stream, "done");
    } finally {
      stream.destroy();
    }
  });
}

/** Of a copy that goes on where its original was saved: makes it another machine, and lets its sandbox go on. */
export async function wakeCopy(stateDir: string, message: Buffer, signal?: AbortSignal): Promise<void> {
  const stream = await sendTask(stateDir, "wake");
  const giveUp = () => stream.destroy();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await sendMessage(stream, message);
    await expect(stream, "done");
  } finally {
    signal?.removeEventListener("abort", giveUp);
    stream.destroy();
  }
}

/** Rejects with what it says where that is a failure. */
export async function expect(stream: Duplex, word: string): Promise<void> {
  const { said, code, message } = await hear(stream).catch((cause: unknown) => {
    throw new AgentKernelError("sandbox_died", "the machine ended before it had answered", { cause });
  });
  if (said === "failed") {
    const known = errorCodeOf(code);
    const extras = known === "resource_exhausted" ? { hint: "make room on the disk of the state folder" } : {};
    throw new AgentKernelError(known, escapeText(String(message)), extras);
  }
  if (said !== word) throw new AgentKernelError("internal", `a machine said something else than ${word}`);
}
