/**
 * What of the host's a sandbox shows, and in which form an engine can show it. A folder is copied in without what is
 * hidden in it: a mount would show what the policy hides, since an engine cannot leave anything out of one.
 */
import { statSync } from "node:fs";
import type { BootSpec } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";

export interface CopiedView {
  readonly source: string;
  readonly target: string;
  readonly readonly: boolean;
}

export function copiedViews({ policy, projectDir }: BootSpec): readonly CopiedView[] {
  const { mode, readonly } = policy.fs.workspace;
  const shown: CopiedView[] = [];
  if (mode === "sync" || mode === "mount") throw unsupportedMode(mode);
  if (mode === "copy") {
    if (projectDir === null) throw new AgentKernelError("internal", "workspace copy without a project folder");
    shown.push({ source: projectDir, target: "/workspace", readonly });
  }
  for (const { host, guest, readonly: isReadonly } of policy.fs.mounts) {
    if (!isReadonly) {
      throw new AgentKernelError("unsupported", `${guest} cannot be a writable mount on this backend`, {
        hint: "write it as host:guest:ro, or use --backend linux",
      });
    }
    shown.push({ source: host, target: guest, readonly: true });
  }
  for (const { source } of shown) {
    if (statSync(source, { throwIfNoEntry: false }) !== undefined) continue;
    throw new AgentKernelError("not_found", `${source} is not there`, { hint: "name a folder that exists" });
  }
  return shown;
}

function unsupportedMode(mode: "sync" | "mount"): AgentKernelError {
  const why =
    mode === "mount"
      ? "an engine's mount would show what the policy hides"
      : "an engine does not tell what a sandbox changed in the project";
  return new AgentKernelError("unsupported", `--workspace ${mode} is not possible on this backend: ${why}`, {
    hint: "use --workspace copy and take files out with agentkernel cp, or use --backend linux",
  });
}
