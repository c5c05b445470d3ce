/** Sandboxes, commands and snapshots in the shapes of the published SDKs. */

import type { SnapshotAnswer } from "../api/operations/snapshots.js";
import { answerOf } from "../api/resources/sandboxes.js";
import type { ExecInfo, Sandbox } from "../runtime/sandboxes/index.js";
import type { PublishedCall } from "./call.js";

export async function shownSandbox({ backing, caller }: PublishedCall, sandbox: Sandbox): Promise<object> {
  const { name, state, backend, image, resources, created_at } = await answerOf(sandbox, backing.redactFor(caller));
  return {
    name,
    uuid: sandbox.id,
    // They know no others.
    status: state === "running" ? "running" : "stopped",
    backend,
    image: image?.name ?? null,
    vcpus: Math.ceil(resources.vcpus),
    memory_mb: resources.memory_mb,
    created_at,
  };
}

export async function shownCommand(sandbox: Sandbox, info: ExecInfo): Promise<object> {
  const running = sandbox.runningExec(info.id);
  // One that is over has none any more.
  const opened = await running?.guest.opened.catch(() => undefined);
  const code = info.code ?? (info.signal === null ? null : 128 + info.signal);
  return {
    id: info.id,
    sandbox: sandbox.name,
    command: info.argv,
    pid: opened?.pid ?? 0,
    status: info.state === "running" ? "running" : code === 0 ? "completed" : "failed",
    exit_code: code,
    started_at: new Date(info.startedAtMs).toISOString(),
  };
}

export function shownSnapshot({ name, sandbox, image, backend, created_at }: SnapshotAnswer): object {
  return { name, sandbox, image_tag: image.name, backend, base_image: image.name, created_at };
}
