/** Where machines on this host get their kernel, their first filesystem and their roots from. */
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { MachineFiles } from "../backends/microvm/machine-files.js";
import type { ImageSource } from "../core/backend.js";
import { diskFailure } from "../core/disk-failure.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import type { nativeBinary } from "../core/native-binary.js";
import { machineCacheFolder } from "../core/state-folders.js";
import { ensureRootImage } from "../images/root-image.js";
import { ensureInitramfs, findKernelSet, type Initramfs } from "../machine/index.js";
import type { RuntimeHost } from "./open-backend.js";

type HostFolders = Pick<RuntimeHost, "env" | "homeDir">;

export function machineFiles({ env, homeDir }: HostFolders, programOf?: typeof nativeBinary): MachineFiles {
  return {
    async kernel() {
      const set = findKernelSet(env, homeDir);
      const { kernel, acpi, commandLine, hasFuse, digest } = set;
      const initramfs = firstFilesystem(set, machineCacheFolder(env, homeDir), programOf);
      const both = createHash("sha256").update(`${digest} ${initramfs.digest}`).digest("hex");
      return { kernel, initramfs: initramfs.path, acpi, commandLine, hasFuse, digest: both };
    },
    async root(image, signal) {
      if (image.kind !== "layers") throw new AgentKernelError("internal", "a machine's root is made of layers");
      return await ensureRootImage(image.layers, machineCacheFolder(env, homeDir), signal);
    },
  };
}

function firstFilesystem(...[set, cache, programOf]: Parameters<typeof ensureInitramfs>): Initramfs {
  try {
    return ensureInitramfs(set, cache, programOf);
  } catch (error) {
    throw diskFailure("a machine's first filesystem could not be written", cache, error);
  }
}

/** Why there is no kernel that could be used; null where there is one. */
export function kernelRefusal({ env, homeDir }: HostFolders): AgentKernelError | null {
  try {
    findKernelSet(env, homeDir);
    return null;
  } catch (error) {
    if (isAgentKernelError(error)) return error;
    throw error;
  }
}

/** Cheap; null where there is no kernel. */
export function machineFilesMark({ env, homeDir }: HostFolders): string | null {
  try {
    const { folder, digest } = findKernelSet(env, homeDir);
    return `${folder}:${digest}`;
  } catch (error) {
    if (isAgentKernelError(error)) return null;
    throw error;
  }
}

/** For a proof: nothing but what every machine has. */
export function emptyRoot({ env, homeDir }: HostFolders): ImageSource {
  const folder = join(machineCacheFolder(env, homeDir), "nothing");
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  return { kind: "layers", layers: [folder] };
}
