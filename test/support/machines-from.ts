/** The microvm backend from plain values, so that another process can have the same one. */
import { join } from "node:path";
import { type MicrovmOptions, microvmBackend } from "../../src/backends/microvm/index.js";
import { openMonitor } from "../../src/backends/microvm/monitor.js";
import { Templates } from "../../src/backends/microvm/templates.js";
import type { Backend } from "../../src/core/backend.js";
import { machineFiles } from "../../src/runtime/machine-files.js";

export interface MachineParts {
  readonly programs: MicrovmOptions["programs"];
  readonly dist: string;
  readonly qemu: string;
  readonly cache: string;
  readonly env: Readonly<Record<string, string>> & { readonly XDG_STATE_HOME: string };
  readonly homeDir: string;
}

export interface TestMachines {
  readonly backend: Backend;
  readonly templates: Templates;
}

export const templatesIn = (cache: string) => join(cache, "templates");

export function machinesFrom(parts: MachineParts, options: Partial<MicrovmOptions> = {}): TestMachines {
  const { programs, dist, qemu, cache, env, homeDir } = parts;
  const binary = (name: string) => join(dist, "native", name);
  const vmmBinary = binary("ak-vmm");
  const templates = new Templates({ programs, vmmBinary, folder: templatesIn(cache) });
  const backend = microvmBackend({
    programs,
    vmmBinary,
    monitor: () => openMonitor({ kind: "qemu", program: qemu, accelerator: "tcg" }, join(cache, "monitors")),
    files: machineFiles({ env, homeDir }, binary),
    templates: async () => templates,
    folder: join(env.XDG_STATE_HOME, "microvm"),
    ...options,
  });
  return { backend, templates };
}
