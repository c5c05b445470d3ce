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
  /** What changes in it is carried over to the host at the end. */
  readonly isSynced: boolean;
}

export function copiedViews({ policy, projectDir }: BootSpec): readonly CopiedView[] {
  const { mode, readonly } = policy.fs.workspace;
  const shown: CopiedView[] = [];
  if (mode === "mount") throw noMount();
  if (mode !== "none") {
    if (projectDir === null) throw new AgentKernelError("internal", `workspace ${mode} without a project folder`);
    shown.push({ source: projectDir, target: "/workspace", readonly, isSynced: mode === "sync" && !readonly });
  }
  for (const { host, guest, readonly: isReadonly } of policy.fs.mounts) {
    if (!isReadonly) {
      throw new AgentKernelError("unsupported", `${guest} cannot be a writable mount on this backend`, {
        hint: "write it as host:guest:ro, or use --backend linux",
      });
    }
    shown.push({ source: host, target: guest, readonly: true, isSynced: false });
  }
  for (const { source } of shown) {
    if (statSync(source, { throwIfNoEntry: false }) !== undefined) continue;
    throw new AgentKernelError("not_found", `${source} is not there`, { hint: "name a folder that exists" });
  }
  return shown;
}

/** What is known of it from the beginning, so that its changes can be told: of what stays, and of what is synced. */
export function trackedView(views: readonly CopiedView[], isKept: boolean): CopiedView | null {
  return (
    views.find(({ target, readonly, isSynced }) => target === "/workspace" && !readonly && (isSynced || isKept)) ?? null
  );
}

function noMount(): AgentKernelError {
  const why =
    "an engine's mount would show what the policy hides, and what root writes in it would be root's on the host";
  return new AgentKernelError("unsupported", `--workspace mount is not possible on this backend: ${why}`, {
    hint: "use --workspace sync, which carries changes over when the sandbox ends, or --backend linux",
  });
}
