/** What the first program of a container is told (native/entry/src/order.rs). Pure. */
import type { BootSpec, GitFiles } from "../../core/backend.js";
import { scratchMiB, unprivilegedUser, writablePaths } from "../linux/jail-spec.js";
import { type CopiedView, isLive, type LiveView, liveSource, trackedView } from "./views.js";

export interface EntryOrder {
  readonly version: 1;
  readonly hostname: string;
  readonly network: "none" | "captured";
  readonly user: { readonly uid: number; readonly gid: number };
  readonly rootReadonly: boolean;
  readonly capabilities: "default" | "none";
  readonly seccomp: "default" | "strict";
  readonly live: boolean;
  readonly landlockWritable: readonly string[];
  readonly readonly: readonly string[];
  readonly trustedCertificate: string | null;
  readonly git: GitFiles | null;
  readonly trees: readonly string[];
  readonly views: readonly LiveView[];
  /** How much it may change in those that are copy-on-write. */
  readonly scratchMib: number;
  /** Null where that is root. What only others may read is not for the sandbox either. */
  readonly caller: { readonly uid: number; readonly gid: number } | null;
  /** Where the project is on the host. */
  readonly project: string | null;
  readonly listed: string | null;
  readonly anew: boolean;
  readonly kept: boolean;
  readonly lingers: boolean;
}

interface OrderParts {
  readonly views: readonly CopiedView[];
  readonly live: readonly LiveView[];
  readonly isKept: boolean;
  /** What it leaves stays without it: its guest need not wait until somebody has looked. */
  readonly hasOwnKeeper?: boolean;
}

export function entryOrder(boot: BootSpec, { views, live, isKept, hasOwnKeeper }: OrderParts): EntryOrder {
  const listed = trackedView(views, isKept)?.target ?? null;
  const { proc, fs, net } = boot.policy;
  return {
    version: 1,
    hostname: boot.hostname,
    network: net.egress === "off" ? "none" : "captured",
    user: proc.noRoot ? unprivilegedUser(proc.user) : { uid: 0, gid: 0 },
    rootReadonly: fs.rootReadonly,
    capabilities: proc.capabilities,
    seccomp: proc.seccomp,
    live: live.some(isLive),
    landlockWritable: writablePaths(boot.policy),
    readonly: views.filter(({ readonly }) => readonly).map(({ target }) => target),
    trustedCertificate: boot.trustedCertificate ?? null,
    git: boot.git ?? null,
    trees: views.map(({ target }) => target),
    views: live.map((view, index) => ({ ...view, source: liveSource(index) })),
    scratchMib: scratchMiB(boot.policy.resources),
    caller: callerIds(),
    // An engine has closed a read-only root already: there is no place for it.
    project: fs.workspace.mode === "none" || fs.rootReadonly ? null : boot.projectDir,
    listed,
    anew: false,
    kept: isKept,
    lingers: listed !== null && !isKept && hasOwnKeeper !== true,
  };
}

function callerIds(): EntryOrder["caller"] {
  const [uid, gid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
  return uid === 0 ? null : { uid, gid };
}
