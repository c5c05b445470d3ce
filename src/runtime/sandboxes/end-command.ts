/** Ends one command of a sandbox with everything that descends from it, whoever started it. */
import { AgentKernelError } from "../../core/errors.js";
import { refusal } from "./refusals.js";
import type { Sandbox } from "./sandbox.js";
import type { ExecInfo } from "./types.js";

/** Resolves when it is over, to how it ended. */
export async function endCommand(sandbox: Sandbox, id: string): Promise<ExecInfo> {
  const known = sandbox.execs().find((exec) => exec.id === id);
  if (known === undefined) {
    throw new AgentKernelError("not_found", `there is no command ${id} in the sandbox ${sandbox.name}`, {
      hint: ({ commandIds }) => commandIds,
      details: { field: "exec" },
    });
  }
  const running = sandbox.runningExec(id);
  if (running === null) {
    throw new AgentKernelError("conflict", `the command ${id} is over (${known.state})`, {
      hint: "nothing is left to end",
      details: { field: "exec" },
    });
  }
  // SIGKILL reaches a frozen process only when it is thawed.
  if (sandbox.state === "paused") {
    throw refusal(sandbox.name, "is paused", `let it go on: agentkernel resume ${sandbox.name}`);
  }
  running.abandon();
  return await running.over;
}
