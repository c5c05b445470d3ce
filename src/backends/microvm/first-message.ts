/**
 * What a machine is told before it is saved (native/init/src/shape.rs): what all sandboxes of the same policy and image
 * have in common, and nothing that is one's own. Pure.
 */
import type { BootSpec } from "../../core/backend.js";
import { type EntryOrder, entryOrder } from "../entry/order.js";
import type { CopiedView } from "../entry/views.js";
import { scratchMiB } from "../linux/jail-spec.js";
import type { MonitorKind } from "./monitor.js";

interface MessageSubject {
  readonly path: string;
  readonly mib: number;
  /** Octal. */
  readonly mode: string;
}

/** Of one that stays nothing is built ahead: what lies on its disk comes first. */
export function firstMessage(boot: BootSpec, views: readonly CopiedView[], kind: MonitorKind, stays = false): string {
  const { fs, net, resources } = boot.policy;
  const tmpMib = Math.min(fs.tmpMiB, Math.max(4, Math.floor(resources.memoryMiB / 4)));
  return JSON.stringify({
    version: 1,
    captured: net.egress !== "off",
    rootReadonly: fs.rootReadonly,
    scratchMib: scratchMiB(resources),
    tmpMib,
    places: places(boot, views, tmpMib),
    pids: resources.pids,
    openFiles: resources.openFiles,
    ahead: !stays && canWaitInside(boot, views, kind) ? orderAhead(boot) : null,
  });
}

/** The guest of a machine that was told this waits inside its walls: what is told later is one's own, and no order. */
export function waitsInside(first: string): boolean {
  return (JSON.parse(first) as { readonly ahead: unknown }).ahead !== null;
}

/**
 * Landlock's rules name what lies there when they are made, so where they tell one folder from another the folders must
 * be there first. And the guest has the stream when it waits, but that of Firecracker's machines ends when they are saved.
 */
function canWaitInside({ policy: { proc } }: BootSpec, views: readonly CopiedView[], kind: MonitorKind): boolean {
  return kind === "qemu" && proc.landlock === "default" && views.every(({ readonly }) => !readonly);
}

/** As long as the names of sandboxes that do not stay: then files that name them stay as they are (native/init/root.rs). */
const PLACEHOLDER_HOSTNAME = "run-000000000000";

function orderAhead(boot: BootSpec): EntryOrder {
  const order = entryOrder(boot, { views: [], live: [], isKept: false, hasOwnKeeper: true });
  return { ...order, hostname: PLACEHOLDER_HOSTNAME, trustedCertificate: null, git: null, project: null };
}

/** In memory, and so with a limit, beside what every machine has. */
function places(
  { policy: { fs, resources } }: BootSpec,
  views: readonly CopiedView[],
  tmpMib: number,
): readonly MessageSubject[] {
  const scratch = scratchMiB(resources);
  const found = new Map<string, MessageSubject>();
  const add = (path: string, mib: number, mode: string) => {
    if (!found.has(path)) found.set(path, { path, mib, mode });
  };
  add("/workspace", scratch, "0755");
  if (fs.rootReadonly) {
    add("/home/sandbox", tmpMib, "0700");
    add("/etc/agentkernel", 16, "0755");
    for (const { target } of views) add(target, scratch, "0755");
  }
  return [...found.values()];
}
