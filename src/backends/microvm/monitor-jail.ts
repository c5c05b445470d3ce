/** The jail around a machine's monitor, as the spec that `ak-jail` builds it from. Pure. */
import type { JailSpec } from "../linux/jail-spec.js";
import type { MachineShape } from "./shape.js";
import { memoryAroundMib } from "./shape.js";

/** Memory and device state that machines start from, as paths to what a holder has open. */
export interface HeldTemplate {
  readonly memory: string;
  readonly state: string;
}

/** `boot`: from the kernel on. `save`: and into the template. `restore`: from it. */
export type MachineStart =
  | { readonly does: "boot" }
  | { readonly does: "save" | "restore"; readonly template: HeldTemplate };

export interface MonitorJail {
  readonly shape: MachineShape;
  readonly start: MachineStart;
  /** Processor time, as the policy has it. */
  readonly vcpus: number;
  readonly vmmBinary: string;
  readonly journalDir: string;
  /** The file that a machine which stays has as its disk. */
  readonly disk?: string;
}

/** Whom the monitor runs as in its jail. */
const MONITOR_ID = 1000;
const MONITOR_THREADS = 64;
const MONITOR_OPEN_FILES = 256;
const SCRATCH_MIB = 4;
/** In the place of a file that there is not. */
const NOTHING = "/dev/null";

export function monitorJail({ shape, start, vcpus, vmmBinary, journalDir, disk }: MonitorJail): JailSpec {
  const { monitor, kernel, root } = shape;
  const isSaved = start.does === "save";
  const template = start.does === "boot" ? [NOTHING, NOTHING] : [start.template.memory, start.template.state];
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
        ...template.map((path) => ({ path, writable: isSaved })),
        ...(disk === undefined ? [] : [{ path: disk, writable: true }]),
      ],
      kvm: monitor.accelerator === "kvm",
      unixSockets: monitor.kind === "firecracker",
    },
  };
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
