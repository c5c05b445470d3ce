/** Reports on a virtual machine: its layers, its end, and why it did not start. */
import type { Layer, SandboxEnd } from "../../core/backend.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { ResourcePolicy } from "../../core/policy.js";
import { LEAST_MEMORY_MIB } from "./least-memory.js";
import type { MachineShape } from "./shape.js";

/** Of the machine, of the jail around it, and of what stands inside. */
export function machineLayers(
  shape: MachineShape,
  { memoryMiB }: Pick<ResourcePolicy, "memoryMiB">,
  around: readonly Layer[],
  inside: readonly Layer[],
): readonly Layer[] {
  return [
    machineLayer(shape),
    ...(memoryMiB < LEAST_MEMORY_MIB ? [moreMemory(memoryMiB)] : []),
    ...around.map(aroundMonitor),
    ...inside.filter(isOwn),
  ];
}

function moreMemory(wantedMiB: number): Layer {
  const detail = `a machine has at least ${LEAST_MEMORY_MIB} MiB, not ${wantedMiB}`;
  return { name: "memory limit", state: "partial", detail };
}

/** Of a machine that goes on where another was: what stood inside stands in it too. */
export function continuedLayers(
  shape: MachineShape,
  around: readonly Layer[],
  original: readonly Layer[],
): readonly Layer[] {
  const inside = original.filter(({ name }) => name !== MACHINE && !name.endsWith(AROUND));
  return [...machineLayers(shape, { memoryMiB: shape.memoryMib }, around, []), ...inside];
}

const MACHINE = "virtual machine";
const AROUND = " around the machine";

/** Said aloud: who takes emulation for a boundary must not do so because of us. */
function machineLayer({ monitor: { kind, accelerator } }: MachineShape): Layer {
  if (kind === "firecracker") {
    const detail = "by Firecracker, unverified: what drives it was tested against a double of it only";
    return { name: MACHINE, state: "partial", detail };
  }
  if (accelerator === "kvm") return { name: MACHINE, state: "applied" };
  const detail =
    "the machine is emulated in software, which is no security boundary: the jail around the emulator is the wall";
  return { name: MACHINE, state: "partial", detail };
}

function aroundMonitor({ name, ...rest }: Layer): Layer {
  return { name: `${name}${AROUND}`, ...rest };
}

/** Ids inside are the machine's own, whatever they are: nobody on the host has them. */
function isOwn({ name }: Layer): boolean {
  return name !== "user namespace";
}

/** A line of what `ak-vmm` says (native/vmm/src/lib.rs). */
const OUT_OF_MEMORY = "ak-vmm: out of memory in the machine";

/** What the machine had: its kernel's own words about memory, and no more than its size, since the rest is its monitor's. */
export function machineEnd(end: SandboxEnd, { memoryMib }: Pick<MachineShape, "memoryMib">): SandboxEnd {
  const { said, memoryPeakBytes, ...rest } = end;
  const lines = said?.split("\n") ?? [];
  const words = lines
    .filter((line) => line !== OUT_OF_MEMORY)
    .join("\n")
    .trim();
  return {
    ...rest,
    oomKills: end.oomKills + lines.filter((line) => line === OUT_OF_MEMORY).length,
    memoryPeakBytes: memoryPeakBytes === null ? null : Math.min(memoryPeakBytes, memoryMib * (1 << 20)),
    ...(words === "" ? {} : { said: words }),
  };
}

/** With what the machine's kernel, or its monitor, said last. */
export function explained(error: unknown, said: string | undefined): unknown {
  if (!isAgentKernelError(error) || said === undefined) return error;
  const extras = error.hint === undefined ? { cause: error } : { cause: error, hint: error.hint };
  return new AgentKernelError(error.code, `${error.message}: ${escapeText(said)}`, extras);
}
