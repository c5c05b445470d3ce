/** The user's sandboxes as the verbs about their files see them. */
import type { PersistentChanges } from "../../core/changes.js";
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";
import type { FindSandbox } from "../sandbox-files.js";
import { isHeldName } from "./held-name.js";
import { sandboxOf } from "./residents.js";

export function sandboxFiles(invocation: Pick<Invocation, "resident" | "env" | "homeDir">): FindSandbox {
  return async (name) => {
    if (isHeldName(name)) return await (await import("./held.js")).heldFiles(name, invocation);
    const sandbox = sandboxOf(invocation, name);
    const { policy, hasRun, projectDir } = sandbox.record;
    const { mode } = policy.fs.workspace;
    const hasCopy = projectDir !== null && (mode === "copy" || mode === "sync");
    return {
      name,
      stateDir: sandbox.stateDir,
      projectDir,
      get changes() {
        if (hasRun) return sandbox.changes;
        if (hasCopy) return unchanged(name, projectDir, mode === "sync");
        throw neverRun(name);
      },
      hide: policy.fs.deny,
      record: (access) => sandbox.recordFile(access),
      recordApplied: (applied) => sandbox.recordFile(applied),
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

/** Of one that has never run: there is nothing to look at, and so nothing that could be looked at in vain. */
function unchanged(name: string, projectDir: string, synced: boolean): PersistentChanges {
  return {
    list: async (_, { paths }) => ({ changes: [], projectDir, synced, omitted: 0, unmatched: paths }),
    async *patch() {},
    apply: () => Promise.reject(neverRun(name)),
  };
}

function neverRun(name: string): AgentKernelError {
  return new AgentKernelError("conflict", `the sandbox ${name} has never run, and so has changed nothing`, {
    hint: `start it: agentkernel start ${name}`,
  });
}
