/** Wakes a machine that waits: it becomes somebody's, and its first program waits for its order. */
import type { Duplex } from "node:stream";
import { AgentKernelError } from "../../core/errors.js";
import { within } from "../../core/within.js";
import { awaitEntry, sendMessage } from "../entry/talk.js";
import type { MachineStart } from "./monitor-jail.js";

/** Until it answers; one that boots first needs longer. */
const WAKE_MS = 60_000;
const BOOT_MS = 180_000;

export async function wakeUp(stream: Duplex, message: Buffer, { does }: MachineStart): Promise<void> {
  const woken = (async () => {
    await sendMessage(stream, message);
    await awaitEntry(stream, "waiting");
  })();
  const ms = does === "boot" ? BOOT_MS : WAKE_MS;
  woken.catch(() => {});
  await within(ms, woken, () => {
    throw new AgentKernelError("sandbox_start_failed", `the machine did not answer within ${ms / 1000} s`, {
      hint: "the host may have no time for it: try again, or look at `agentkernel doctor`",
    });
  });
}
