/**
 * The microvm backend: a virtual machine for each sandbox, whose monitor is in a jail. This folder turns a policy into a
 * machine, saves one of each shape and restores copies of it, and speaks to the program that is process 1 in there. It
 * never gives a machine a device that leads anywhere but to its own stream, and never lets two of them share one.
 */
import type { Backend, BootSpec, Lack, WarmShape } from "../../core/backend.js";
import { takeOnce } from "../../core/take-once.js";
import { sweepProjects } from "../entry/copied-project.js";
import { copiedViews, liveViews } from "../entry/views.js";
import { firstMessage } from "./first-message.js";
import type { MonitorKind } from "./monitor.js";
import { type MicrovmOptions, usualHeartbeat } from "./options.js";
import { persistentMachines } from "./persistent/index.js";
import { machineViews, RunMachine } from "./run-machine.js";
import { memoryMib } from "./shape.js";
import { shapeFor } from "./shape-for.js";

export type { MicrovmOptions } from "./options.js";

const NOT_LIVE = "a machine cannot show a folder of the host's live: that needs virtiofs";

export const microvmLacks: readonly Lack[] = [
  { capability: "workspace-mount", reason: NOT_LIVE },
  { capability: "home", reason: NOT_LIVE },
];

export function microvmBackend(options: MicrovmOptions): Backend {
  let isSwept = false;
  return {
    name: "microvm",
    lacks: microvmLacks,
    allotsMemory: true,
    async boot(spec, signal, onStream) {
      machineViews(spec);
      const booted = await (await startMachine(options, spec, signal)).boot(spec, signal, onStream);
      // Beside the run: what others left does not keep this one waiting.
      if (!isSwept) {
        isSwept = true;
        sweepProjects(options.folder).catch(() => {
          isSwept = false;
        });
      }
      return booted;
    },
    kept: persistentMachines(options),
    shapeOf: (spec) => warmShape(options, spec),
  };
}

async function startMachine(options: MicrovmOptions, spec: BootSpec, signal?: AbortSignal): Promise<RunMachine> {
  const { programs, vmmBinary, templates, folder, isCold = false, heartbeat = usualHeartbeat } = options;
  const first = (kind: MonitorKind) => firstMessage(spec, machineViews(spec), kind);
  const shape = await shapeFor(options, { ...spec.policy, image: spec.image, first }, signal);
  const start = isCold
    ? ({ does: "boot" } as const)
    : ({ does: "restore", template: await (await templates()).of(shape) } as const);
  signal?.throwIfAborted();
  const { vcpus: share } = spec.policy.resources;
  return await RunMachine.start({ programs, vmmBinary, shape, start, vcpus: share, folder, heartbeat }, signal);
}

/** What a machine is told when it is woken is not part of it: names, folders, certificates are whoever's it becomes. */
function warmShape(options: MicrovmOptions, spec: BootSpec): WarmShape | null {
  const { image, policy } = spec;
  if (image.kind !== "layers" || options.isCold === true || liveViews(spec).length > 0) return null;
  const views = copiedViews(spec);
  const { vcpus: share } = policy.resources;
  const memory = memoryMib(policy.resources);
  return {
    key: JSON.stringify(["microvm", image.layers, memory, share, firstMessage(spec, views, "qemu")]),
    label: `microvm image of ${image.layers.length} layers, ${memory} MiB`,
    build: async (signal) => {
      const machine = await startMachine(options, spec, signal);
      await machine.rehearse(signal);
      return takeOnce({
        gone: machine.ended,
        take: (spec, taker, onStream) => machine.boot(spec, taker, onStream),
        discard: () => machine.kill().catch(() => {}),
      });
    },
  };
}
