/**
 * Virtual machines for tests: emulated in software, as QEMU does it anywhere, with a distribution's kernel that
 * scripts/setup.sh has fetched. Saved machines are shared by all test files of a checkout, since booting one takes seconds.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { MicrovmOptions } from "../../src/backends/microvm/index.js";
import { qemuPath } from "../../src/backends/microvm/monitor.js";
import type { Backend, BootSpec, ImageSource } from "../../src/core/backend.js";
import { findProgram } from "../../src/core/find-program.js";
import { nativeBinary } from "../../src/core/native-binary.js";
import { machineFiles } from "../../src/runtime/machine-files.js";
import type { Actor } from "./actors.js";
import { linuxProgramsOf } from "./linux-backend.js";
import { contractFolder, kernelFolder, machineCache } from "./machine-places.js";
import { type MachineParts, machinesFrom, type TestMachines, templatesIn } from "./machines-from.js";
import { testFolder } from "./test-folder.js";

/**
 * What tests of machines need, and do not have; null where there is everything. Where `scripts/setup.sh` can get it, its
 * absence is a failure and not a reason to leave them out.
 */
export function missingForMachines(): string | null {
  if (process.arch !== "x64") return "x86-64";
  const missing = qemuPath(process.env) === null ? "qemu-system-x86_64" : hasKernel() ? null : kernelFolder;
  if (missing === null) return null;
  const isToBeHad = process.env.CI !== undefined || findProgram("apt-get", process.env.PATH ?? "") !== null;
  if (isToBeHad) throw new Error(`virtual machines need ${missing}; scripts/setup.sh test gets it`);
  console.warn(`SKIPPED: virtual machines need ${missing}`);
  return missing;
}

const hasKernel = () => existsSync(join(kernelFolder, "kernel.json"));

export const contractImage = (): ImageSource => ({ kind: "layers", layers: [contractFolder()] });

/** What saved machines and their parts are kept in. */
export const machineEnvironment = () => ({
  XDG_CACHE_HOME: machineCache,
  XDG_STATE_HOME: join(testFolder(), "machine-state"),
  AGENTKERNEL_KERNEL: kernelFolder,
});

const cacheFolder = () => join(machineEnvironment().XDG_CACHE_HOME, "agentkernel", "microvm");
export const templatesFolder = () => templatesIn(cacheFolder());

/** What another process makes the same machines from. */
export function machinePartsOf(actor: Actor): MachineParts {
  return {
    programs: linuxProgramsOf(actor),
    dist: actor.dist,
    qemu: qemuPath(process.env) ?? "",
    cache: cacheFolder(),
    env: machineEnvironment(),
    homeDir: actor.home,
  };
}

export function machinesOf(actor: Actor, options: Partial<MicrovmOptions> = {}): TestMachines {
  return machinesFrom(machinePartsOf(actor), { files: machineFiles(machineHost(actor)), ...options });
}

const machineHost = ({ home }: Actor) => ({ env: machineEnvironment(), homeDir: home });

/** The contract asks for the host's own programs, which no machine can run. */
export function withContractImage(backend: Backend): Backend {
  const own = (spec: BootSpec): BootSpec => ({ ...spec, image: contractImage() });
  const { kept } = backend;
  return {
    ...backend,
    boot: (spec, signal, onStream) => backend.boot(own(spec), signal, onStream),
    ...(kept && { kept: { ...kept, start: (spec, stateDir, signal) => kept.start(own(spec), stateDir, signal) } }),
  };
}

/** Machines whose first filesystem has another guest than ours. */
export function withGuest({ home }: Actor, guestBinary?: string): Partial<MicrovmOptions> {
  if (guestBinary === undefined) return {};
  const programOf: typeof nativeBinary = (name) => (name === "ak-guest" ? guestBinary : nativeBinary(name));
  return { files: machineFiles({ env: machineEnvironment(), homeDir: home }, programOf) };
}
