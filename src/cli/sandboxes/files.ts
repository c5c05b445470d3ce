/** The user's sandboxes as the verbs about their files see them. */
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../invocation/index.js";
import type { FindSandbox } from "../sandbox-files.js";
import { sandboxOf } from "./residents.js";

export function sandboxFiles(invocation: Pick<Invocation, "resident">): FindSandbox {
  return async (name) => {
    const sandbox = sandboxOf(invocation, name);
    const { policy, hasRun } = sandbox.record;
    return {
      name,
      stateDir: sandbox.stateDir,
      get changes() {
        if (hasRun) return sandbox.changes;
        throw new AgentKernelError("conflict", `the sandbox ${name} has never run, and so has changed nothing`, {
          hint: `start it: agentkernel start ${name}`,
        });
      },
      hide: policy.fs.deny,
      record: (access) => sandbox.recordFile(access),
      async withFiles(use) {
        const { files } = sandbox;
        const over = sandbox.use();
        try {
          return await use(files);
        } finally {
          over();
        }
      },
    };
  };
}
