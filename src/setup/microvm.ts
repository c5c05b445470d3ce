/** What the microvm backend needs of a machine beside agentkernel: programs of the distribution's, and a kernel. */
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { findProgram } from "../core/find-program.js";
import { type HostEnvironment, kernelsFolder } from "../core/state-folders.js";
import {
  fetchDebianKernel,
  findKernelSet,
  type KernelSet,
  placeKernelSet,
  readKernelSet,
  type SetName,
  verifyKernelSet,
} from "../machine/index.js";
import type { MachineFacts } from "./remedies.js";

interface MissingProgram {
  readonly name: string;
  readonly purpose: string;
}

export interface MicrovmNeeds {
  readonly missing: readonly MissingProgram[];
  /** A line for a shell of root's that installs them; null where nothing is missing or no line is known. */
  readonly install: string | null;
  /** Null where there is none yet. */
  readonly kernel: KernelSet | null;
}

const PROGRAMS: readonly MissingProgram[] = [
  { name: "qemu-system-x86_64", purpose: "runs machines" },
  { name: "mkfs.erofs", purpose: "makes disks of images" },
  { name: "mke2fs", purpose: "makes disks of machines that stay" },
];
/** Where the maker of disks looks; an ordinary user's PATH may lack the folders of root's programs. */
const SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin";

const installers: ReadonlyMap<string, string> = new Map([
  ["debian", "apt-get install -y --no-install-recommends qemu-system-x86 erofs-utils e2fsprogs"],
  ["ubuntu", "apt-get install -y --no-install-recommends qemu-system-x86 erofs-utils e2fsprogs"],
  ["fedora", "dnf install -y qemu-system-x86-core erofs-utils e2fsprogs"],
  ["suse", "zypper --non-interactive install qemu-x86 erofs-utils e2fsprogs"],
  ["arch", "pacman -S --noconfirm qemu-system-x86 erofs-utils e2fsprogs"],
  ["alpine", "apk add qemu-system-x86_64 erofs-utils e2fsprogs"],
]);

/** Throws where a kernel is there and damaged. */
export async function microvmNeeds(
  env: HostEnvironment,
  homeDir: string,
  { systems }: Pick<MachineFacts, "systems">,
): Promise<MicrovmNeeds> {
  const path = `${env.PATH ?? ""}:${SYSTEM_PATH}`;
  const missing = PROGRAMS.filter(({ name }) => findProgram(name, path) === null);
  const known = systems.map((system) => installers.get(system)).find((line) => line !== undefined);
  const kernel = foundKernel(env, homeDir);
  if (kernel !== null) await verifyKernelSet(kernel);
  return { missing, install: missing.length === 0 ? null : (known ?? null), kernel };
}

export function kernelPlace(name: SetName, env: HostEnvironment, homeDir: string): string {
  return join(kernelsFolder(env, homeDir), name);
}

/** Debian's own, by apt. */
export async function getKernel(env: HostEnvironment, homeDir: string, signal?: AbortSignal): Promise<KernelSet> {
  return await fetchDebianKernel(kernelPlace("debian", env, homeDir), signal);
}

/** One that was built, from the folder that images/kernel/build.sh filled. It appears whole or not at all. */
export async function takeKernel(from: string, env: HostEnvironment, homeDir: string): Promise<KernelSet> {
  const built = readKernelSet(from);
  if (built === null) {
    throw new AgentKernelError("invalid_argument", `--kernel ${from}: there is no kernel.json`, {
      hint: "name the folder that images/kernel/build.sh has filled",
    });
  }
  await verifyKernelSet(built);
  const place = kernelPlace("agentkernel", env, homeDir);
  await mkdir(dirname(place), { recursive: true, mode: 0o700 });
  const work = await mkdtemp(join(dirname(place), `.${basename(place)}.`));
  try {
    const copy = join(work, "set");
    await cp(from, copy, { recursive: true });
    const copied = readKernelSet(copy);
    if (copied !== null) await verifyKernelSet(copied);
    return await placeKernelSet(copy, place);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function foundKernel(env: HostEnvironment, homeDir: string): KernelSet | null {
  const named = env.AGENTKERNEL_KERNEL;
  // One that is named and cannot be used is told, and not replaced.
  if (named !== undefined && named !== "") return findKernelSet(env, homeDir);
  const found = (["agentkernel", "debian"] as const).map((name) => readKernelSet(kernelPlace(name, env, homeDir)));
  return found.find((set) => set !== null) ?? null;
}
