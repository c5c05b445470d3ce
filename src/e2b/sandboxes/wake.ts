/** A sandbox that is paused or stopped, so that it runs again. */
import type { Caller } from "../../api/auth/caller.js";
import type { Backing } from "../../api/call.js";
import { hostEnvFor } from "../../api/resources/sandboxes.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";

export async function wake(sandbox: Sandbox, backing: Backing, caller: Caller, signal: AbortSignal): Promise<void> {
  if (sandbox.state === "paused") {
    await sandbox.resume();
    return;
  }
  if (sandbox.state === "running") return;
  await backing.places.at(caller, signal, () => sandbox.start({ ...hostEnvFor(caller, backing), signal }));
}
