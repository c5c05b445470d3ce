/** The jail around a machine's monitor, as the spec that `ak-jail` builds it from. Pure. */
import type { JailSpec } from "../linux/jail-spec.js";
import type { MachineShape } from "./shape.js";
import { memoryAroundMib } from "./shape.js";

/** Memory and device state that machines start from, as paths to what a holder has open. */
export interface HeldTemplate {
  readonly memory: string;
  readonly state: string;
}

/**
 * `boot`: from the kernel on. `save`: and into the template. `restore`: from it. `continue`: from where one that stays was
 * saved while it ran, all of which is in one file.
 */
export type MachineStart =
  | { readonly does: "boot" }
  | { readonly does: "save" | "restore"; readonly template: HeldTemplate }
  | { readonly does: "continue"; readonly saved: string };

interface MonitorJail {
  readonly shape: MachineShape;
  readonly start: MachineStart;
  /** Processor time, as the policy has it. */
  readonly vcpus: number;
  readonly vmmBinary: string;
  readonly journalDir: string;
  /** Of a machine that stays. */
  readonly keeps?: KeptFiles;
}

interface KeptFiles {
  /** The file of its disk. */
  readonly disk: string;
  /** Where its memory is saved when somebody asks for that. */
  readonly memory: string;
}

/** Whom the monitor runs as in its jail. */
const MONITOR_ID = 1000;
const MONITOR_THREADS = 64;
const MONITOR_OPEN_FILES = 256;
const SCRATCH_MIB = 4;
/** In the place of a file that there is not. */
const NOTHING = "/dev/null";

export function monitorJail({ shape, start, vcpus, vmmBinary, journalDir, keeps }: MonitorJail): JailSpec {
  const { monitor, kernel, root } = shape;
  const isSaved = start.does === "save";
  return {
    version: 1,
    hostname: "monitor",
    guest: vmmBinary,
    ids: "best",
    user: { uid: MONITOR_ID, gid: MONITOR_ID },
    root: { kind: "layers", layers: [monitor.root] },
    rootReadonly: true,
    scratchMib: SCRATCH_MIB,
    tmpMib: SCRATCH_MIB,
    views: [],
    hide: [],
    protect: [],
    review: [],
    capabilities: "none",
    seccomp: "strict",
    landlockWritable: [],
    limits: {
      vcpus,
      memoryMib: memoryAroundMib(shape.memoryMib),
      pids: MONITOR_THREADS,
      openFiles: MONITOR_OPEN_FILES,
    },
    network: "none",
    trustedCertificate: null,
    journal: journalDir,
    monitor: {
      words: ["run", JSON.stringify(machineSpec(shape, start))],
      // At the numbers that native/vmm/src/spec.rs has for them.
      files: [
        ...[kernel.kernel, kernel.initramfs, root.path].map((path) => ({ path, writable: false })),
        ...startedFrom(start).map((path) => ({ path, writable: isSaved })),
        ...(keeps === undefined ? [] : [keeps.disk, keeps.memory].map((path) => ({ path, writable: true }))),
      ],
      kvm: monitor.accelerator === "kvm",
      unixSockets: monitor.kind === "firecracker",
    },
  };
}

/** Memory, and the state of devices. */
function startedFrom(start: MachineStart): readonly [string, string] {
  if (start.does === "boot") return [NOTHING, NOTHING];
  return start.does === "continue" ? [NOTHING, start.saved] : [start.template.memory, start.template.state];
}

function machineSpec(shape: MachineShape, { does }: MachineStart): object {
  const { monitor, kernel, memoryMib, vcpus, first, diskMib } = shape;
  return {
    version: 1,
    does,
    monitor: monitor.kind,
    program: monitor.program,
    accelerator: monitor.accelerator,
    memoryMib,
    vcpus,
    acpi: kernel.acpi,
    commandLine: kernel.commandLine,
    // Whoever starts another tells it themselves.
    says: does === "save" ? first : null,
    diskMib,
  };
}
