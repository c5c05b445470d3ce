/** Starts a machine that stays: from its disk, as whose it is, and with the project where it has none yet. */
import { mkdir } from "node:fs/promises";
import type { BootSpec } from "../../../core/backend.js";
import { AgentKernelError } from "../../../core/errors.js";
import { beginProject, limitChanges, writeListing } from "../../entry/copied-project.js";
import { entryOrder } from "../../entry/order.js";
import { insistOnOwn } from "../../entry/own-folder.js";
import { giveOrder } from "../../entry/talk.js";
import { trackedView } from "../../entry/views.js";
import { sweepPersistent } from "../../linux/persistent/jail-command.js";
import type { OwnedSandbox } from "../../linux/persistent/owned-sandbox.js";
import { startPersistentJail } from "../../linux/persistent/start.js";
import { firstMessage } from "../first-message.js";
import { explained, machineLayers } from "../machine-report.js";
import { MachineStream } from "../machine-stream.js";
import { type MachineStart, monitorJail } from "../monitor-jail.js";
import type { MicrovmOptions } from "../options.js";
import { machineViews } from "../run-machine.js";
import type { MachineShape } from "../shape.js";
import { shapeFor } from "../shape-for.js";
import { newMachineId, wakeMessage } from "../wake.js";
import { unlessStalled, wakeUp } from "../wake-up.js";
import { continueMachine } from "./continue.js";
import { diskMib, diskPath, makeDisk } from "./disk.js";
import { dropTaken, emptyMemory, marksOf, readSaved } from "./memory.js";
import type { StartedMachine } from "./owned-machine.js";
import { forgetRecord, type MachineRecord, readRecord, writeRecord } from "./record.js";

export async function startPersistentMachine(
  options: MicrovmOptions,
  spec: BootSpec,
  stateDir: string,
  signal?: AbortSignal,
): Promise<StartedMachine> {
  signal?.throwIfAborted();
  insistOnOwn(stateDir);
  const views = machineViews(spec);
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  if (await sweepPersistent(options.programs, stateDir)) {
    throw new AgentKernelError("conflict", "it runs", { hint: "stop it first" });
  }
  const before = readRecord(stateDir);
  const isNew = before === null || !before.isFilled;
  const record = await recordFor(options, spec, before, firstMessage(spec, views, "qemu", true));
  signal?.throwIfAborted();
  const saved = readSaved(stateDir);
  if (saved !== null) {
    const { trustedCertificate = null } = spec;
    return await continueMachine(options, { stateDir, record, saved, trustedCertificate }, signal);
  }
  // Of one that did not come to go on.
  await dropTaken(stateDir);
  writeRecord(stateDir, record);
  try {
    if (isNew) await makeDisk(stateDir, record.diskMib);
    const tracked = trackedView(views, true);
    // What stays in a machine stays as it is there; a synced project that was carried over is the host's again.
    const sent = isNew ? views : record.isCarried && tracked !== null ? [tracked] : [];
    const isListed = tracked !== null && sent.includes(tracked);
    return await withMachine(options, stateDir, record, signal, async ({ stream, shape, jail }) => {
      if (isListed) {
        await beginProject(stateDir, tracked, spec);
        await limitChanges(stateDir, spec);
      }
      const order = {
        ...entryOrder(spec, { views, live: [], isKept: true }),
        trees: sent.map(({ target }) => target),
        anew: record.isCarried,
        listed: isListed ? tracked.target : null,
      };
      const giving = giveOrder(stream, { order, views: sent, hide: spec.policy.fs.deny, signal });
      giving.catch(() => {});
      const begun = await unlessStalled(stream, giving);
      signal?.throwIfAborted();
      if (begun.listing !== null) await writeListing(stateDir, begun.listing);
      const layers = machineLayers(shape, spec.policy.resources, jail.layers, begun.layers);
      const isSynced = tracked?.isSynced ?? false;
      const marks = marksOf(shape);
      const started = { ...record, isFilled: true, isCarried: false, isBrought: false, isSynced, layers, marks };
      writeRecord(stateDir, started);
      return { jail, record: started };
    });
  } catch (error) {
    // What it has on its disk from before stays; what never began goes.
    if (isNew) forgetRecord(stateDir);
    throw error;
  }
}

async function recordFor(
  options: MicrovmOptions,
  { image, hostname, policy: { resources } }: BootSpec,
  before: MachineRecord | null,
  first: string,
): Promise<MachineRecord> {
  const { kind, program, accelerator } = await options.monitor();
  if (kind !== "qemu") {
    throw new AgentKernelError("unsupported", `${kind} has no machines that stay`, {
      hint: "unset AGENTKERNEL_VMM to use QEMU, or use run without --keep",
    });
  }
  const known = before ?? {
    diskMib: diskMib(resources.diskMiB),
    isFilled: false,
    isCarried: false,
    isBrought: false,
    isSynced: false,
    layers: [],
  };
  const machineId = before?.machineId ?? newMachineId().toString("hex");
  const own = { monitor: { kind, program, accelerator }, image, resources, first, hostname, machineId };
  return { ...known, version: 1, ...own, isAsked: false, isWaking: false };
}

interface WokenMachine {
  readonly jail: OwnedSandbox;
  readonly shape: MachineShape;
  /** To its first program, which waits for its order. */
  readonly stream: MachineStream;
}

/** The machine of this record, woken. It has ended where `use` rejects; its stream has in any case. */
export async function withMachine<T>(
  options: MicrovmOptions,
  stateDir: string,
  record: MachineRecord,
  signal: AbortSignal | undefined,
  use: (machine: WokenMachine) => Promise<T>,
): Promise<T> {
  const { programs, vmmBinary, templates, isCold = false } = options;
  const { resources, machineId } = record;
  const shape = await shapeFor(options, { ...record, first: () => record.first }, signal);
  const start: MachineStart = isCold
    ? { does: "boot" }
    : { does: "restore", template: await (await templates()).of(shape) };
  signal?.throwIfAborted();
  const { journalDir } = programs;
  const keeps = { disk: diskPath(stateDir), memory: await emptyMemory(stateDir) };
  const spec = monitorJail({ shape, start, vcpus: resources.vcpus, vmmBinary, journalDir, keeps });
  const jail = await startPersistentJail(programs, spec, stateDir, signal);
  let stream: MachineStream | null = null;
  const giveUp = () => stream?.destroy();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    stream = new MachineStream(await jail.connect());
    stream.on("error", () => {});
    signal?.throwIfAborted();
    const message = wakeMessage(record, { token: null, rest: null, machineId: Buffer.from(machineId, "hex") });
    await wakeUp(stream, message, { start, shape });
    return await use({ jail, shape, stream });
  } catch (error) {
    const { said } = await jail.kill().catch(() => ({ said: undefined }));
    throw signal?.aborted ? signal.reason : explained(error, said);
  } finally {
    signal?.removeEventListener("abort", giveUp);
    stream?.destroy();
  }
}
