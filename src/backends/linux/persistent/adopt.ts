/** Takes over a running kept sandbox. */
import { setTimeout as delay } from "node:timers/promises";
import { AgentKernelError, isAgentKernelError } from "../../../core/errors.js";
import type { JailPrograms } from "../jail-process.js";
import { Control } from "./control.js";
import { sweepPersistent } from "./jail-command.js";
import { OwnedSandbox } from "./owned-sandbox.js";

/** A supervisor that lives and does not listen is in its first or its last moments. */
const PATIENCE_MS = 15_000;
const LOOK_AGAIN_MS = 5;

export async function adoptPersistent(programs: JailPrograms, stateDir: string): Promise<OwnedSandbox | null> {
  for (const until = Date.now() + PATIENCE_MS; Date.now() < until; await delay(LOOK_AGAIN_MS)) {
    const owned = await tryToOwn(programs, stateDir);
    if (owned !== null) return owned;
    if (!(await sweepPersistent(programs, stateDir))) return null;
  }
  throw new AgentKernelError("conflict", `the supervisor of the sandbox in ${stateDir} lives and does not answer`, {
    hint: "it may be stopped or out of memory; end the process whose id is in the folder's file lock",
  });
}

/** null where nobody listens, or where it ended while it was asked. */
async function tryToOwn(programs: JailPrograms, stateDir: string): Promise<OwnedSandbox | null> {
  const control = await Control.connect(stateDir);
  if (control === null) return null;
  try {
    return new OwnedSandbox(programs, stateDir, control, await control.ask({ do: "own" }));
  } catch (error) {
    control.close();
    const over = await control.over;
    if (over.how === "replaced") {
      throw new AgentKernelError("conflict", `another owner took the sandbox in ${stateDir} over`, { cause: error });
    }
    if (isAgentKernelError(error) && error.code === "sandbox_died") return null;
    throw error;
  }
}
