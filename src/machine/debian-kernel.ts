/**
 * A kernel for virtual machines from Debian's package for clouds: the quick way, without a compiler. apt fetches it and
 * holds it against the distribution's signatures; it is never installed, and none of its scripts run.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { AgentKernelError } from "../core/errors.js";
import { sha256OfFile } from "../core/file-digest.js";
import { modulesArchive } from "./kernel-modules.js";
import {
  DESCRIPTION_NAME,
  KERNEL_NAME,
  type KernelDescription,
  type KernelSet,
  MODULES_NAME,
  readKernelSet,
} from "./kernel-set.js";

const run = promisify(execFile);
const META_PACKAGE = "linux-image-cloud-amd64";
const COMMAND_LINE = "console=ttyS0 quiet reboot=t panic=-1 oops=panic no_timer_check tsc=reliable";
const PATIENCE_MS = 10 * 60_000;

/** Downloads the package and makes a kernel of it in `folder`, which appears by rename. */
export async function fetchDebianKernel(folder: string, signal?: AbortSignal): Promise<KernelSet> {
  if (process.arch !== "x64") throw unavailable(`Debian's kernel is fetched for x64 only; this is ${process.arch}`);
  const work = await mkdtemp(join(tmpdir(), "agentkernel-kernel-"));
  try {
    await said("apt-get", ["download", await packageName(signal)], work, signal);
    const found = (await readdir(work)).find((name) => name.endsWith(".deb"));
    if (found === undefined) throw unavailable("apt-get downloaded no package");
    return await kernelSetFromPackage(join(work, found), folder, signal);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function kernelSetFromPackage(packagePath: string, folder: string, signal?: AbortSignal): Promise<KernelSet> {
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  const work = await mkdtemp(join(dirname(folder), `.${basename(folder)}.`));
  try {
    const unpacked = join(work, "package");
    await said("dpkg-deb", ["--extract", packagePath, unpacked], work, signal);
    const release = readdirSync(join(unpacked, "lib/modules"))[0] ?? "";
    const kernel = join(unpacked, "boot", `vmlinuz-${release}`);
    if (release === "" || !existsSync(kernel)) throw unavailable(`${packagePath} holds no kernel`);
    const made = join(work, "set");
    await mkdir(made, { mode: 0o755 });
    await copyFile(kernel, join(made, KERNEL_NAME));
    await writeFile(join(made, MODULES_NAME), modulesArchive(join(unpacked, "lib/modules", release)), { mode: 0o644 });
    const description: KernelDescription = {
      version: 1,
      name: release,
      acpi: true,
      commandLine: COMMAND_LINE,
      kernelSha256: await sha256OfFile(join(made, KERNEL_NAME)),
      modulesSha256: await sha256OfFile(join(made, MODULES_NAME)),
    };
    await writeFile(join(made, DESCRIPTION_NAME), `${JSON.stringify(description, null, 2)}\n`, { flush: true });
    return await placeKernelSet(made, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Machines that were started from the one before have its files open. */
export async function placeKernelSet(made: string, folder: string): Promise<KernelSet> {
  await rm(folder, { recursive: true, force: true });
  await rename(made, folder);
  const set = readKernelSet(folder);
  if (set === null) throw unavailable(`${folder} was taken away while it was made`);
  return set;
}

async function packageName(signal: AbortSignal | undefined): Promise<string> {
  const { stdout } = await said("apt-cache", ["depends", META_PACKAGE], "/", signal);
  const found = /^\s*Depends: (linux-image-[a-z0-9.+-]+)$/m.exec(stdout)?.[1];
  if (found === undefined) throw unavailable(`apt knows no ${META_PACKAGE}`);
  return found;
}

async function said(program: string, words: readonly string[], cwd: string, signal?: AbortSignal) {
  try {
    return await run(program, words, { cwd, timeout: PATIENCE_MS, ...(signal ? { signal } : {}) });
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
      throw unavailable(`${program} is not there: only Debian and what is made of it have this kernel`, cause);
    }
    const text = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim() : String(cause);
    throw unavailable(`${program} ${words.join(" ")}: ${text.split("\n").at(-1) ?? ""}`, cause);
  }
}

function unavailable(why: string, cause?: unknown): AgentKernelError {
  return new AgentKernelError("backend_unavailable", `no kernel could be fetched: ${why}`, {
    hint: "build our own: sh images/kernel/build.sh FOLDER, then agentkernel setup --backend microvm --kernel FOLDER",
    ...(cause === undefined ? {} : { cause }),
  });
}
