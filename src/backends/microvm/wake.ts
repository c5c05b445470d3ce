/** What a machine is told when it becomes somebody's (native/init/src/wake.rs). A machine is a copy until then. */
import { randomBytes } from "node:crypto";
import type { BootSpec } from "../../core/backend.js";
import type { CopiedView } from "../entry/views.js";
import { scratchMiB } from "../linux/jail-spec.js";

interface Place {
  readonly path: string;
  readonly mib: number;
  /** Octal. */
  readonly mode: string;
}

/** What it is told each time that it starts. */
export interface WakeSettings {
  readonly hostname: string;
  readonly machineId: string;
  readonly captured: boolean;
  readonly rootReadonly: boolean;
  readonly scratchMib: number;
  readonly tmpMib: number;
  readonly places: readonly Place[];
  readonly pids: number;
  readonly openFiles: number;
}

export function wakeSettings(boot: BootSpec, views: readonly CopiedView[]): WakeSettings {
  const { fs, net, resources } = boot.policy;
  const tmpMib = Math.min(fs.tmpMiB, Math.max(4, Math.floor(resources.memoryMiB / 4)));
  return {
    hostname: boot.hostname,
    machineId: randomBytes(16).toString("hex"),
    captured: net.egress !== "off",
    rootReadonly: fs.rootReadonly,
    scratchMib: scratchMiB(resources),
    tmpMib,
    places: places(boot, views, tmpMib),
    pids: resources.pids,
    openFiles: resources.openFiles,
  };
}

/** `token`: the machine is to go on when its sandbox has ended, and tells of that by these bytes. */
export function wakeMessage(settings: WakeSettings, token: Buffer | null): Buffer {
  const now = Date.now();
  const moment = {
    version: 1,
    seconds: Math.floor(now / 1000),
    nanoseconds: (now % 1000) * 1_000_000,
    entropy: randomBytes(64).toString("hex"),
  };
  return Buffer.from(JSON.stringify({ ...moment, ...settings, token: token?.toString("hex") ?? null }));
}

/** In memory, and so with a limit, beside what every machine has. */
function places(
  { policy: { fs, resources } }: BootSpec,
  views: readonly CopiedView[],
  tmpMib: number,
): readonly Place[] {
  const scratch = scratchMiB(resources);
  const found = new Map<string, Place>();
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
