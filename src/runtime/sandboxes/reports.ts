/** What a kept sandbox tells of itself. */
import { hiddenLayers } from "../hidden-layer.js";
import type { SandboxContext } from "./context.js";
import { diskBytes } from "./disk-usage.js";
import type { ExecTable } from "./execs/exec-table.js";
import type { SandboxFolder } from "./folder.js";
import { ttlLeftMs } from "./life.js";
import type { SandboxRecord } from "./record.js";
import type { RunningSandbox } from "./running.js";
import type { SecretValues } from "./secret-values.js";
import type { Terminals } from "./terminals/index.js";
import type { SandboxInfo, SandboxState, SandboxStats, SandboxSummary } from "./types.js";

/** What there is to be told. */
export interface SandboxView {
  readonly record: SandboxRecord;
  readonly folder: SandboxFolder;
  readonly running: RunningSandbox | null;
  readonly execs: ExecTable;
  readonly terminals: Terminals;
  readonly secrets: SecretValues;
  readonly context: SandboxContext;
}

export function stateOf({ record, running }: Pick<SandboxView, "record" | "running">): SandboxState {
  if (running !== null) return running.isPaused ? "paused" : "running";
  return record.hasRun ? "stopped" : "created";
}

export function summaryOf(view: SandboxView): SandboxSummary {
  const { record, running, context, execs, terminals } = view;
  const { id, name, owner, image, projectDir, created, ttlMs, ttlFrom, idleTimeoutMs } = record;
  return {
    id,
    name,
    state: stateOf(view),
    owner,
    image: { name: image.name, digest: image.digest },
    projectDir,
    createdAtMs: created.wallMs,
    startedAtMs: running?.kept.startedAtMs ?? null,
    ttlMs,
    ttlLeftMs: ttlMs === null ? null : ttlLeftMs(ttlMs, ttlFrom, context.clock.now(), context.knownSince),
    idleTimeoutMs,
    runningExecs: execs.running,
    runningTerminals: terminals.count,
  };
}

export async function infoOf(view: SandboxView): Promise<SandboxInfo> {
  const { record, running, context, execs, folder, secrets } = view;
  return {
    ...summaryOf(view),
    backend: record.backend ?? context.backend.name,
    backendWhy: record.backendWhy ?? null,
    imageWhy: record.image.why,
    policy: record.policy,
    policyVersion: record.policyVersion,
    layers: await layersOf(view),
    ports: running?.ports ?? [],
    usage: await usageOf(running),
    execs: execs.list(),
    terminals: view.terminals.list(),
    lastEnd: running === null ? await context.kept.lastEnd(folder.jail) : null,
    notes: [...(record.backendNotes ?? []), ...secrets.notes(running !== null)],
  };
}

async function layersOf({ record, running, context }: SandboxView): Promise<SandboxInfo["layers"]> {
  if (running === null) return [];
  return [...running.layers, ...(await hiddenLayers(await context.backendFor(record.backend), record))];
}

export async function statsOf(view: SandboxView): Promise<SandboxStats> {
  const { record, running, folder } = view;
  const { resources } = record.policy;
  const traffic = running?.egress?.port.traffic;
  return {
    name: record.name,
    state: stateOf(view),
    atMs: Date.now(),
    usage: await usageOf(running),
    diskBytes: await diskBytes(folder.jail),
    network: traffic ?? { receivedBytes: 0, sentBytes: 0, connections: 0 },
    limits: { memoryBytes: resources.memoryMiB * 2 ** 20, vcpus: resources.vcpus, processes: resources.pids },
  };
}

/** Null where it ended while it was asked. */
async function usageOf(running: RunningSandbox | null): Promise<SandboxInfo["usage"]> {
  const status = await running?.kept.status().catch(() => null);
  return status?.usage ?? null;
}
