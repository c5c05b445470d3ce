/**
 * What of the host's a sandbox shows, and in which form an engine can show it. What the sandbox gets for itself is copied
 * in without what is hidden in it. What is to be the host's own folder is mounted by the engine where only the container's
 * first program sees it, which shows it without what is hidden (native/entry/src/live.rs).
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

/** As the jail has it (native/jail/src/spec.rs). */
export interface LiveView {
  readonly source: string;
  readonly target: string;
  readonly form: "mount" | "copy";
  readonly readonly: boolean;
}

/** What the container's first program is given to show, and what is sent to it. */
export interface ShownViews {
  readonly copied: readonly CopiedView[];
  readonly live: readonly LiveView[];
}

/** The folder of the host's itself, open for writing. */
export function isLive({ form, readonly }: LiveView): boolean {
  return form === "mount" && !readonly;
}

/** Where an engine mounts what `ak-entry` is to show. */
export const LIVE_PLACE = "/.agentkernel/live";
export const liveSource = (index: number) => `${LIVE_PLACE}/${index}`;

export function copiedViews(boot: BootSpec): readonly CopiedView[] {
  const { policy, projectDir } = boot;
  const { mode, readonly } = policy.fs.workspace;
  const shown: CopiedView[] = [];
  if (mode === "copy" || mode === "sync") {
    if (projectDir === null) throw new AgentKernelError("internal", `workspace ${mode} without a project folder`);
    shown.push({ source: projectDir, target: "/workspace", readonly, isSynced: mode === "sync" && !readonly });
  }
  if (!hasLive(boot)) {
    for (const { host, guest } of policy.fs.mounts) {
      shown.push({ source: host, target: guest, readonly: true, isSynced: false });
    }
  }
  return shown.map(mustExist);
}

/** Where anything is live, read-only mounts are shown too: one may lie in a live folder, into which nothing is copied. */
export function liveViews(boot: BootSpec): readonly LiveView[] {
  if (!hasLive(boot)) return [];
  const { mode } = boot.policy.fs.workspace;
  return allViews(boot).filter(({ target }) => target !== "/workspace" || mode === "mount");
}

/** All that it shows, copy-on-write what it may change for itself alone. */
export function allViews({ policy: { fs }, projectDir, homeDir }: BootSpec): readonly LiveView[] {
  const { mode, readonly } = fs.workspace;
  const shown: LiveView[] = [];
  if (mode !== "none") {
    if (projectDir === null) throw new AgentKernelError("internal", `workspace ${mode} without a project folder`);
    shown.push({ source: projectDir, target: "/workspace", form: mode === "mount" ? "mount" : "copy", readonly });
  }
  if (fs.home === "readonly" && homeDir !== null) {
    shown.push({ source: homeDir, target: homeDir, form: "copy", readonly: true });
  }
  for (const { host, guest, readonly } of fs.mounts) {
    shown.push({ source: host, target: guest, form: readonly ? "copy" : "mount", readonly });
  }
  return shown.map(mustExist);
}

function hasLive({ policy: { fs }, homeDir }: BootSpec): boolean {
  const hasHome = fs.home === "readonly" && homeDir !== null;
  return fs.workspace.mode === "mount" || hasHome || fs.mounts.some(({ readonly }) => !readonly);
}

function mustExist<T extends { readonly source: string }>(view: T): T {
  if (statSync(view.source, { throwIfNoEntry: false }) !== undefined) return view;
  throw new AgentKernelError("not_found", `${view.source} is not there`, { hint: "name a folder that exists" });
}

/** What is known of it from the beginning, so that its changes can be told: of what stays, and of what is synced. */
export function trackedView(views: readonly CopiedView[], isKept: boolean): CopiedView | null {
  return (
    views.find(({ target, readonly, isSynced }) => target === "/workspace" && !readonly && (isSynced || isKept)) ?? null
  );
}
