/**
 * Virtual machines for tests: emulated in software, as QEMU does it anywhere, with a distribution's kernel that
 * scripts/setup.sh has fetched. Saved machines are shared by all test files of a checkout, since booting one takes seconds.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type MicrovmOptions, microvmBackend } from "../../src/backends/microvm/index.js";
import { openMonitor, qemuPath } from "../../src/backends/microvm/monitor.js";
import { Templates } from "../../src/backends/microvm/templates.js";
import type { Backend, BootSpec, ImageSource } from "../../src/core/backend.js";
import { machineFiles } from "../../src/runtime/machine-files.js";
import type { Actor } from "./actors.js";
import { contractRoot } from "./engine-image.js";
import { linuxProgramsOf } from "./linux-backend.js";
import { repository } from "./repository.js";
import { testFolder } from "./test-folder.js";

const shared = join(repository, ".build");
export const kernelFolder = join(shared, "kernels", "debian");

/** Which tests of machines need, and do not have; null where there is everything. */
export function missingForMachines(): string | null {
  if (process.arch !== "x64") return "x86-64";
  if (qemuPath(process.env) === null) return "qemu-system-x86_64";
  return existsSync(join(kernelFolder, "kernel.json")) ? null : kernelFolder;
}

/** The contract's root as a folder. */
export function contractFolder(): string {
  const folder = join(shared, "contract-root");
  if (existsSync(folder)) return folder;
  const fresh = `${folder}.${process.pid}`;
  try {
    mkdirSync(fresh, { mode: 0o755 });
    execFileSync("tar", ["-C", fresh, "-xpf", contractRoot(), "--numeric-owner"]);
    renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return folder;
}

export const contractImage = (): ImageSource => ({ kind: "layers", layers: [contractFolder()] });

/** What saved machines and their parts are kept in: it outlives a run of the tests. */
export const machineEnvironment = () => ({
  XDG_CACHE_HOME: join(shared, "machine-cache"),
  XDG_STATE_HOME: join(testFolder(), "machine-state"),
  AGENTKERNEL_KERNEL: kernelFolder,
});

const cacheFolder = () => join(machineEnvironment().XDG_CACHE_HOME, "agentkernel", "microvm");
export const templatesFolder = () => join(cacheFolder(), "templates");

export interface TestMachines {
  readonly backend: Backend;
  readonly templates: Templates;
}

export function machinesOf(actor: Actor, options: Partial<MicrovmOptions> = {}): TestMachines {
  const env = machineEnvironment();
  const programs = linuxProgramsOf(actor);
  const vmmBinary = join(actor.dist, "native", "ak-vmm");
  const program = qemuPath(process.env) ?? "";
  const templates = new Templates({ programs, vmmBinary, folder: templatesFolder() });
  const backend = microvmBackend({
    programs,
    vmmBinary,
    monitor: () => openMonitor({ kind: "qemu", program, accelerator: "tcg" }, join(cacheFolder(), "monitors")),
    files: machineFiles({ env, homeDir: actor.home }),
    templates: async () => templates,
    folder: join(env.XDG_STATE_HOME, "microvm"),
    ...options,
  });
  return { backend, templates };
}

/** The contract asks for the host's own programs, which no machine can run. */
export function withContractImage(backend: Backend): Backend {
  const own = (spec: BootSpec): BootSpec => ({ ...spec, image: contractImage() });
  return { ...backend, boot: (spec, signal, onStream) => backend.boot(own(spec), signal, onStream) };
}
