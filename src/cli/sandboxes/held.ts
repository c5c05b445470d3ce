/**
 * What a synced project's run did not carry over, because it waits for a review: a state folder like a sandbox's, without
 * a sandbox. `diff`, `apply` and `remove` work on it under the name that the run told.
 */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { linuxChanges } from "../../backends/linux/persistent/changes.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { heldFolder } from "../../core/state-folders.js";
import type { Surroundings } from "../../core/surroundings.js";
import { resolve } from "../../policy/resolve.js";
import { openRunAudit, type RunAudit } from "../../runtime/run-audit.js";
import type { SandboxFiles } from "../sandbox-files.js";

type StateLocation = Pick<Surroundings, "env" | "homeDir">;

export async function heldFiles(name: string, { env, homeDir }: StateLocation): Promise<SandboxFiles> {
  const stateDir = join(heldFolder(env, homeDir), name);
  const projectDir = await projectOf(stateDir, name);
  const changes = linuxChanges({});
  const recorded = async (write: (records: RunAudit["records"]) => void) => {
    const { policy } = resolve({});
    const audit = openRunAudit(name, { audit: {}, hostEnv: env, policy }, { env, homeDir });
    write(audit.records);
    await audit.settle();
  };
  return {
    name,
    stateDir,
    projectDir,
    changes: {
      ...changes,
      async apply(state, options, signal) {
        const report = await changes.apply(state, options, signal);
        const left = await changes.list(state, { paths: [] }, signal);
        if (left.changes.length === 0 && left.omitted === 0) await rm(state, { recursive: true, force: true });
        return report;
      },
    },
    hide: [],
    record: (access) => recorded((records) => records.file(access)),
    recordApplied: (applied) => recorded((records) => records.file(applied)),
    withFiles: () => Promise.reject(notRunning(name)),
  };
}

export async function removeHeld(name: string, { env, homeDir }: StateLocation): Promise<void> {
  const stateDir = join(heldFolder(env, homeDir), name);
  await projectOf(stateDir, name);
  await rm(stateDir, { recursive: true, force: true });
}

async function projectOf(stateDir: string, name: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(join(stateDir, "project.json"), "utf8");
  } catch (cause) {
    throw new AgentKernelError("not_found", `nothing is held as ${escapeText(name)}`, {
      hint: "it was applied or removed, or held with another state folder",
      cause,
    });
  }
  const { source } = JSON.parse(text) as { readonly source: string };
  return source;
}

function notRunning(name: string): AgentKernelError {
  return new AgentKernelError("conflict", `${escapeText(name)} is no sandbox: it has changes and nothing else`, {
    hint: `look at them with agentkernel diff ${escapeText(name)}`,
  });
}
