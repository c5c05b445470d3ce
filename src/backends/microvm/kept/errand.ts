/** Something that is asked of a running machine, beside what its host does (native/init/src/stays/errands.rs). */
import type { Duplex } from "node:stream";
import { AgentKernelError } from "../../../core/errors.js";
import { within } from "../../../core/within.js";
import { adoptStream } from "../../../guest/index.js";
import { inTurn } from "../../entry/in-turn.js";
import { hear, sendMessage } from "../../entry/talk.js";
import { connectControl } from "../../linux/kept/control-socket.js";
import { MachineStream } from "../machine-stream.js";

/** A machine that lives takes one after the other. */
const TAKEN_MS = 60_000;

/** The stream to whoever does it; the caller's to destroy. Another one would take this one's place: each waits its turn. */
export async function sendOn(stateDir: string, errand: "sync" | "gather"): Promise<Duplex> {
  const stream = await connectControl(stateDir, (socket) => {
    const adopted = adoptStream(socket);
    adopted.on("error", () => {});
    // Whoever waits for an answer hears of its end. A supervisor that is just ending refuses the very first line, and that
    // is told before anybody else could listen.
    const stream = new MachineStream(adopted).on("error", () => {});
    adopted.write(`${JSON.stringify({ do: "errand" })}\n`);
    return stream;
  });
  if (stream === null) throw new AgentKernelError("sandbox_died", "the sandbox has ended");
  try {
    const taken = expect(stream, "here");
    taken.catch(() => {});
    await within(TAKEN_MS, taken, () => {
      throw new AgentKernelError("sandbox_died", `the machine did not answer within ${TAKEN_MS / 1000} s`);
    });
    await sendMessage(stream, Buffer.from(JSON.stringify({ do: errand })));
    return stream;
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

/** Everything that was written in the machine is on its disk. */
export async function syncMachine(stateDir: string): Promise<void> {
  await inTurn(stateDir, async () => {
    const stream = await sendOn(stateDir, "sync");
    try {
      await expect(stream, "done");
    } finally {
      stream.destroy();
    }
  });
}

async function expect(stream: Duplex, word: string): Promise<void> {
  const { said } = await hear(stream).catch((cause: unknown) => {
    throw new AgentKernelError("sandbox_died", "the machine ended before it had answered", { cause });
  });
  if (said !== word) throw new AgentKernelError("internal", `a machine said something else than ${word}`);
}
