/**
 * Kernels for virtual machines. Each is a folder: `kernel`, `kernel.json` with what a monitor must know of it, and
 * `modules.cpio` where it was not built with all drivers that a machine needs. Written by images/kernel/build.sh, and by
 * `agentkernel setup` from a distribution's package.
 */
import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { sha256OfFile } from "../core/file-digest.js";
import { type HostEnvironment, kernelsFolder } from "../core/state-folders.js";
import { textIfThere } from "../core/text-if-there.js";
import { FUSE, listedModules } from "./kernel-modules.js";

export interface KernelSet {
  readonly folder: string;
  /** The kernel's own name for its version. */
  readonly name: string;
  readonly kernel: string;
  readonly modules: string | null;
  /** Devices are announced by ACPI; without it on the kernel's command line. */
  readonly acpi: boolean;
  /** Without what only a monitor knows. */
  readonly commandLine: string;
  /** Whether it can show a project without a copy of it. */
  readonly hasFuse: boolean;
  /** Of kernel and drivers together. */
  readonly digest: string;
}

/** What kernel.json says. */
export interface KernelDescription {
  readonly version: 1;
  readonly name: string;
  readonly acpi: boolean;
  readonly commandLine: string;
  readonly kernelSha256: string;
  readonly modulesSha256: string | null;
}

export const KERNEL_NAME = "kernel";
export const MODULES_NAME = "modules.cpio";
export const DESCRIPTION_NAME = "kernel.json";
/** Our own before a distribution's: it starts sooner and can do less. */
const setNames = ["agentkernel", "debian"] as const;
export type SetName = (typeof setNames)[number];
const KEYS = ["version", "name", "acpi", "commandLine", "kernelSha256", "modulesSha256", "inputs"];

/** The kernel that machines get here. */
export function findKernelSet(env: HostEnvironment, homeDir: string): KernelSet {
  const named = env.AGENTKERNEL_KERNEL;
  if (named !== undefined && named !== "") {
    if (!isAbsolute(named)) throw unusable(`AGENTKERNEL_KERNEL is ${named}, which is not an absolute path`);
    const found = readKernelSet(named);
    if (found === null) throw unusable(`AGENTKERNEL_KERNEL names ${named}, which has no ${DESCRIPTION_NAME}`);
    return found;
  }
  for (const name of setNames) {
    const found = readKernelSet(join(kernelsFolder(env, homeDir), name));
    if (found !== null) return requireOwnKernel(found);
  }
  throw unusable("there is no kernel for virtual machines here");
}

/** A kernel that is not named is one's own, or the system's. HOME may be another's (sudo). */
function requireOwnKernel(set: KernelSet): KernelSet {
  const { uid } = statSync(set.kernel);
  if (uid === 0 || uid === process.geteuid?.()) return set;
  throw new AgentKernelError("backend_unavailable", `the kernel in ${set.folder} belongs to another user`, {
    hint: "set XDG_DATA_HOME or HOME to a folder of your own, or name the kernel by AGENTKERNEL_KERNEL",
  });
}

/** Null where there is none in the folder. */
export function readKernelSet(folder: string): KernelSet | null {
  const text = textIfThere(join(folder, DESCRIPTION_NAME));
  if (text === null) return null;
  const { name, acpi, commandLine, kernelSha256, modulesSha256 } = parseDescription(text, folder);
  const kernel = join(folder, KERNEL_NAME);
  const modules = modulesSha256 === null ? null : join(folder, MODULES_NAME);
  for (const path of [kernel, modules]) {
    if (path !== null && !existsSync(path)) throw unusable(`${path} is missing`);
  }
  const digest = createHash("sha256").update(`${kernelSha256} ${modulesSha256} ${commandLine}`).digest("hex");
  const hasFuse = modules === null || listedModules(modules).includes(FUSE);
  return { folder, name, kernel, modules, acpi, commandLine, hasFuse, digest };
}

/** Reads all of it: are these the files that were made? */
export async function verifyKernelSet(set: KernelSet): Promise<void> {
  const text = textIfThere(join(set.folder, DESCRIPTION_NAME)) ?? "";
  const { kernelSha256, modulesSha256 } = parseDescription(text, set.folder);
  const files = [
    { path: set.kernel, wanted: kernelSha256 },
    ...(set.modules === null ? [] : [{ path: set.modules, wanted: modulesSha256 }]),
  ];
  for (const { path, wanted } of files) {
    const found = await sha256OfFile(path);
    if (found === wanted) continue;
    throw new AgentKernelError(
      "digest_mismatch",
      `${path} has the digest ${found}, and ${DESCRIPTION_NAME} says ${wanted}`,
      {
        hint: `it was changed or damaged: remove ${set.folder} and run: agentkernel setup --backend microvm`,
      },
    );
  }
}

/** Pure. */
export function parseDescription(text: string, folder: string): KernelDescription {
  const wrong = (what: string) => unusable(`${join(folder, DESCRIPTION_NAME)}: ${what}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong("it is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong("it is no object");
  const fields = value as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(fields).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw wrong(`${unknown} is not known; known are ${KEYS.join(", ")}`);
  const { version, name, acpi, commandLine, kernelSha256, modulesSha256 } = fields;
  if (version !== 1) throw wrong("version must be 1");
  if (typeof name !== "string" || name === "") throw wrong("name must be a text");
  if (typeof acpi !== "boolean") throw wrong("acpi must be true or false");
  if (typeof commandLine !== "string" || /[^\x20-\x7e]/.test(commandLine)) {
    throw wrong("commandLine must be one line of plain text");
  }
  if (!isSha256(kernelSha256)) throw wrong("kernelSha256 must have 64 hexadecimal digits");
  if (modulesSha256 !== null && !isSha256(modulesSha256)) {
    throw wrong("modulesSha256 must have 64 hexadecimal digits, or be null");
  }
  return { version, name, acpi, commandLine, kernelSha256, modulesSha256 };
}

function isSha256(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}

function unusable(why: string): AgentKernelError {
  return new AgentKernelError("backend_unavailable", why, {
    hint: "agentkernel setup --backend microvm fetches one; docs/microvm.md says how to build our own",
  });
}
