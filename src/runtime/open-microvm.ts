/** The microvm backend, and the saved machines that it restores. Loaded only where somebody wants one. */
import { join } from "node:path";
import { microvmBackend } from "../backends/microvm/index.js";
import { type MonitorProgram, openMonitor } from "../backends/microvm/monitor.js";
import { Templates } from "../backends/microvm/templates.js";
import type { Backend } from "../core/backend.js";
import { nativeBinary } from "../core/native-binary.js";
import { machineCacheFolder, machineStateFolder } from "../core/state-folders.js";
import { verifyRootImage } from "../images/root-image.js";
import { machineFiles } from "./machine-files.js";
import { type JailHost, jailPrograms, type RuntimeHost } from "./open-backend.js";

export interface MicrovmChoice extends MonitorProgram {
  /** From the kernel on each time, without a template. */
  readonly isCold?: boolean;
}

export function openTemplates(host: JailHost): Templates {
  return new Templates({
    programs: jailPrograms(host),
    vmmBinary: nativeBinary("ak-vmm"),
    folder: join(machineCacheFolder(host.env, host.homeDir), "templates"),
    verifyRoot: verifyRootImage,
  });
}

export function openMicrovm(host: RuntimeHost, { isCold = false, ...monitor }: MicrovmChoice): Backend {
  const { env, homeDir, resident } = host;
  const cache = machineCacheFolder(env, homeDir);
  let own: Templates | null = null;
  const ownTemplates = (): Templates => {
    own ??= openTemplates(host);
    return own;
  };
  return microvmBackend({
    programs: jailPrograms(host),
    vmmBinary: nativeBinary("ak-vmm"),
    monitor: () => openMonitor(monitor, join(cache, "monitors")),
    files: machineFiles({ env, homeDir }),
    templates: async () => (resident === null ? ownTemplates() : await resident.templates()),
    folder: machineStateFolder(env, homeDir),
    isCold,
  });
}
