/** The microvm backend, and the saved machines that it restores. Loaded only where somebody wants one. */
import { join } from "node:path";
import { microvmBackend } from "../backends/microvm/index.js";
import { type MonitorProgram, openMonitor } from "../backends/microvm/monitor.js";
import { Templates } from "../backends/microvm/templates.js";
import type { Backend } from "../core/backend.js";
import { diskFailure } from "../core/disk-failure.js";
import { nativeBinary } from "../core/native-binary.js";
import { makePrivateDirectory } from "../core/private-directory.js";
import { machineCacheFolder, machineStateFolder } from "../core/state-folders.js";
import { verifyRootImage } from "../images/root-image.js";
import { machineFiles } from "./machine-files.js";
import { type JailHost, jailPrograms, type RuntimeHost } from "./open-backend.js";

interface MicrovmChoice extends MonitorProgram {
  /** From the kernel on each time, without a template. */
  readonly isCold?: boolean;
}

export function openTemplates(host: JailHost): Templates {
  return new Templates({
    programs: jailPrograms(host),
    vmmBinary: nativeBinary("ak-vmm"),
    folder: join(ownCache(host), "templates"),
    verifyRoot: verifyRootImage,
  });
}

/** Saved machines, monitors and disks lie there: all that a machine is. */
function ownCache({ env, homeDir }: JailHost): string {
  const cache = machineCacheFolder(env, homeDir);
  try {
    makePrivateDirectory(cache, "the folder of saved machines", "XDG_CACHE_HOME");
  } catch (error) {
    throw diskFailure("machines cannot be saved", cache, error);
  }
  return cache;
}

export function openMicrovm(host: RuntimeHost, { isCold = false, ...monitor }: MicrovmChoice): Backend {
  const { env, homeDir, resident } = host;
  const cache = ownCache(host);
  let own: Templates | null = null;
  const ownTemplates = (): Templates => {
    own ??= openTemplates(host);
    return own;
  };
  return microvmBackend({
    programs: jailPrograms(host),
    vmmBinary: nativeBinary("ak-vmm"),
    monitor: () =>
      openMonitor(monitor, join(cache, "monitors")).catch((error: unknown) => {
        throw diskFailure("the monitor of machines could not be copied", cache, error);
      }),
    files: machineFiles({ env, homeDir }),
    templates: async () => (resident === null ? ownTemplates() : await resident.templates()),
    folder: machineStateFolder(env, homeDir),
    isCold,
  });
}
