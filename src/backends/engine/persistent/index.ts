/**
 * Sandboxes that outlive their owner: the container is one that the engine keeps when it ends, with all that was written
 * in it. Its state folder has the container's id and who owns it; everything else is asked of the engine.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { BootSpec, PersistentBackend, PersistentSandbox } from "../../../core/backend.js";
import { AgentKernelError, isAgentKernelError } from "../../../core/errors.js";
import { beginProject, forgetChanges, limitChanges, writeListing } from "../../entry/copied-project.js";
import { entryOrder } from "../../entry/order.js";
import { insistOnOwn } from "../../entry/own-folder.js";
import { awaitEntry, giveOrder } from "../../entry/talk.js";
import { copiedViews, liveViews, trackedView } from "../../entry/views.js";
import { Container } from "../container.js";
import { containerSpec } from "../container-spec.js";
import type { Engine } from "../engine.js";
import { HeldFolders } from "../held-folders.js";
import { persistentLabels } from "../labels.js";
import { explained } from "../start-container.js";
import { carryAtStop, engineChanges } from "./changes.js";
import { engineCopies, forgetCopy } from "./copies.js";
import { endOf } from "./end.js";
import { OwnedContainer } from "./owned-container.js";
import { type ContainerRecord, readEnd, readRecord, writeEnd, writeRecord } from "./record.js";
import { readSaved, type SavedCopy } from "./saved.js";

export function persistentContainers(engineOf: () => Engine): PersistentBackend {
  const containerOf = ({ id }: ContainerRecord) => new Container(engineOf().client, id);
  return {
    start: (spec, stateDir, signal) => start(engineOf(), spec, stateDir, signal),
    async adopt(stateDir) {
      const record = readRecord(stateDir);
      if (record === null) return null;
      if (record.gatherer !== null) return null;
      const container = containerOf(record);
      const state = await container.inspect();
      if (state?.isRunning === true && record.isFilled) return owned(engineOf(), container, stateDir, record);
      if (record.isFilled) noteUnseenEnd(stateDir, record, state?.exitCode ?? null);
      return null;
    },
    changes: engineChanges(engineOf),
    copies: engineCopies(engineOf),
    async lastEnd(stateDir) {
      return readEnd(stateDir);
    },
    async remove(stateDir) {
      const record = readRecord(stateDir);
      if (record !== null) {
        const container = containerOf(record);
        if ((await container.inspect())?.isRunning === true) throw runs();
        await container.remove();
      }
      await forgetCopy(engineOf, stateDir);
      if (existsSync(join(stateDir, "project.json"))) await forgetChanges(stateDir);
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

function owned(engine: Engine, container: Container, stateDir: string, record: ContainerRecord): OwnedContainer {
  const carry = record.isSynced ? () => carryAtStop(engine, stateDir) : null;
  return new OwnedContainer({ container, stateDir, record, carry });
}

/** It ended while nobody owned it. */
function noteUnseenEnd(stateDir: string, { startedAtMs }: ContainerRecord, exitCode: number | null): void {
  const known = readEnd(stateDir);
  if (known !== null && known.atMs >= startedAtMs) return;
  writeEnd(stateDir, { atMs: Date.now(), lost: exitCode === null, end: endOf(exitCode) });
}

async function start(
  engine: Engine,
  spec: BootSpec,
  stateDir: string,
  signal?: AbortSignal,
): Promise<PersistentSandbox> {
  signal?.throwIfAborted();
  insistOnOwn(stateDir);
  const views = copiedViews(spec);
  const { container, record } = await containerFor(engine, spec, stateDir, views);
  const live = liveViews(spec);
  const order = entryOrder(spec, { views, live, isKept: true });
  const tracked = trackedView(views, true);
  const isAnew = record.isCarried;
  // What stays in a container stays as it is there; a synced project that was carried over is the host's again.
  const sent = record.isFilled ? (isAnew && tracked !== null ? [tracked] : []) : views;
  const isListed = tracked !== null && sent.includes(tracked);
  let stream: Awaited<ReturnType<Container["attach"]>> | null = null;
  const giveUp = () => stream?.destroy();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    signal?.throwIfAborted();
    stream = await container.attach();
    await container.start();
    await awaitEntry(stream);
    const trees = sent.map(({ target }) => target);
    if (isListed) {
      await beginProject(stateDir, tracked, spec);
      await limitChanges(stateDir, spec);
    }
    const told = { ...order, trees, anew: isAnew, listed: isListed ? tracked.target : null };
    const held = live.length === 0 ? null : await HeldFolders.start(live, spec, engine.folder);
    await held?.untilEnd(container);
    const found = held?.found;
    const begun = await giveOrder(stream, { order: told, views: sent, hide: spec.policy.fs.deny, found, signal });
    signal?.throwIfAborted();
    if (begun.listing !== null) await writeListing(stateDir, begun.listing);
    const layers = [...engine.layersOf(spec), ...begun.layers];
    const isSynced = tracked?.isSynced ?? false;
    const known = { isFilled: true, isCarried: false, isBrought: false, gatherer: null, isSynced };
    const started = { ...record, ...known, startedAtMs: Date.now(), user: order.user, layers };
    writeRecord(stateDir, started);
    return owned(engine, container, stateDir, started);
  } catch (error) {
    // What it has on its disk from before stays; what never began goes.
    if (record.isFilled) await container.kill();
    else await container.remove();
    throw signal?.aborted ? signal.reason : explained(error, stream);
  } finally {
    signal?.removeEventListener("abort", giveUp);
    stream?.destroy();
  }
}

/** The one from before, or a new one. */
async function containerFor(
  engine: Engine,
  boot: BootSpec,
  stateDir: string,
  views: ReturnType<typeof copiedViews>,
): Promise<{ readonly container: Container; readonly record: ContainerRecord }> {
  const { client, programs, kind, maxProcesses } = engine;
  const labels = persistentLabels(boot.id, stateDir);
  const files = engine.sharedFiles();
  const spec = containerSpec({
    boot,
    views,
    live: liveViews(boot),
    labels,
    programs,
    files,
    isKept: true,
    maxProcesses,
  });
  const shape = createHash("sha256")
    .update(JSON.stringify({ ...spec, Labels: null, Hostname: null }))
    .digest("hex");
  const before = readRecord(stateDir);
  if (before !== null) {
    const container = new Container(client, before.id);
    const state = await container.inspect();
    if (state?.isRunning === true && before.gatherer !== null) await container.kill();
    else if (state?.isRunning === true && before.isFilled) throw runs();
    if (state !== null && before.isFilled) {
      if (before.shape === shape) return { container, record: before };
      throw new AgentKernelError("unsupported", "its limits or walls have changed since it was made", {
        hint: "an engine fixes these when it makes a container: remove the sandbox and create it again",
      });
    }
    if (state === null && before.isFilled) {
      throw new AgentKernelError("sandbox_died", "its container was removed, with all that was in it", {
        hint: "remove the sandbox and create it again",
      });
    }
    await container.remove();
  }
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const saved = readSaved(stateDir);
  const container = await createNamed(engine, boot.hostname, stateDir, { ...spec, ...imageOf(saved) });
  const nobody = { uid: 0, gid: 0 };
  const known = saved?.known ?? { isFilled: false, isCarried: false, isSynced: false };
  const unknown = { ...known, isBrought: false, gatherer: null };
  const record = { engine: kind, id: container.id, shape, ...unknown, startedAtMs: 0, user: nobody, layers: [] };
  writeRecord(stateDir, record);
  return { container, record };
}

/** Of a copy: what its original had written, in place of the image that it was made with. */
function imageOf(saved: SavedCopy | null): { readonly Image?: string } {
  if (saved === null) return {};
  if (saved.image !== null) return { Image: saved.image };
  throw new AgentKernelError("internal", "the copy was never finished");
}

/** Another user of the same engine may have a sandbox of that name. */
async function createNamed({ client }: Engine, name: string, stateDir: string, spec: object): Promise<Container> {
  try {
    return await Container.create(client, `agentkernel-${name}`, spec);
  } catch (error) {
    if (!isAgentKernelError(error) || error.code !== "conflict") throw error;
    const suffix = createHash("sha256").update(stateDir).digest("hex").slice(0, 8);
    return await Container.create(client, `agentkernel-${name}-${suffix}`, spec);
  }
}

function runs(): AgentKernelError {
  return new AgentKernelError("conflict", "it runs", { hint: "stop it first" });
}
