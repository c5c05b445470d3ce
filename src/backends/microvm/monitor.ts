/**
 * The program that runs machines, as it lies on this machine, and a root folder with nothing in it but that program and
 * what it needs. The folder is a copy: what is installed anew while machines run changes nothing for them, and the next
 * machine gets a copy of the new one.
 */
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, type Stats, statSync } from "node:fs";
import { chmod, copyFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { AgentKernelError } from "../../core/errors.js";
import { findProgram } from "../../core/find-program.js";

export type Accelerator = "kvm" | "tcg";

/** Firecracker by its HTTP interface, whose driver has met nothing but a double of it; QEMU by QMP. */
export type MonitorKind = "qemu" | "firecracker";

export interface Monitor {
  readonly kind: MonitorKind;
  /** In the root folder. */
  readonly program: string;
  readonly root: string;
  readonly accelerator: Accelerator;
  /** Of all of its files. */
  readonly digest: string;
}

/** Loaded by QEMU when it starts, and so in no list of libraries. */
const FIRMWARE = ["bios-microvm.bin", "qboot.rom", "linuxboot_dma.bin", "linuxboot.bin", "pvh.bin"];
const FIRMWARE_FOLDERS = ["/usr/share/qemu", "/usr/share/seabios", "/usr/lib/ipxe/qemu"];
const MODULE_FOLDERS = ["/usr/lib/x86_64-linux-gnu/qemu", "/usr/lib64/qemu", "/usr/lib/qemu"];
const MODULES: Readonly<Record<Accelerator, readonly string[]>> = { kvm: [], tcg: ["accel-tcg-x86_64.so"] };
const LIST_MS = 20_000;

export function qemuPath(env: Readonly<Record<string, string | undefined>>): string | null {
  return findProgram("qemu-system-x86_64", `${env.PATH ?? ""}:/usr/local/bin:/usr/bin:/usr/libexec`);
}

export function firecrackerPath(env: Readonly<Record<string, string | undefined>>): string | null {
  return findProgram("firecracker", `${env.PATH ?? ""}:/usr/local/bin:/usr/bin`);
}

/** Cheap: by what the file itself is. */
export function programMark(program: string): string {
  return markOf(program, statSync(program));
}

export interface MonitorProgram {
  readonly kind: MonitorKind;
  readonly program: string;
  readonly accelerator: Accelerator;
}

export async function openMonitor(wanted: MonitorProgram, folder: string): Promise<Monitor> {
  const { kind, program, accelerator } = wanted;
  const index = join(folder, `${kind}-${accelerator}.json`);
  const known = readIndex(index, program);
  if (known !== null) return { ...wanted, ...known };
  const sources = await sourcesOf(wanted);
  const marks = sources.map((path) => markOf(path, statSync(path)));
  const digest = createHash("sha256").update(marks.join("\n")).digest("hex").slice(0, 32);
  const root = join(folder, digest);
  if (!existsSync(root)) await copyAll(sources, root);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const written = `${index}.${randomBytes(6).toString("hex")}`;
  await writeFile(written, JSON.stringify({ program, root, digest, sources, marks }), { mode: 0o600 });
  await rename(written, index);
  return { ...wanted, root, digest };
}

/** Null where anything of it is not what it was. */
function readIndex(index: string, program: string): Pick<Monitor, "root" | "digest"> | null {
  try {
    const known = JSON.parse(readFileSync(index, "utf8")) as Record<string, unknown>;
    const { root, digest, sources, marks } = known;
    if (known.program !== program || !Array.isArray(sources) || !Array.isArray(marks)) return null;
    if (typeof root !== "string" || typeof digest !== "string" || !existsSync(root)) return null;
    const isSame = sources.every((path: unknown, at) => markOf(String(path), statSync(String(path))) === marks[at]);
    return isSame ? { root, digest } : null;
  } catch {
    // Not there, or of something that is gone: it is made again.
    return null;
  }
}

function markOf(path: string, { dev, ino, size, mtimeMs }: Stats): string {
  return [path, dev, ino, size, mtimeMs].join(":");
}

async function sourcesOf({ kind, program, accelerator }: MonitorProgram): Promise<readonly string[]> {
  if (kind === "firecracker") return [...new Set([program, ...(await librariesOf(program))])];
  const modules = MODULES[accelerator].flatMap((name) => firstOf(MODULE_FOLDERS, name));
  const firmware = FIRMWARE.flatMap((name) => firstOf(FIRMWARE_FOLDERS, name));
  const libraries = await Promise.all([program, ...modules].map(librariesOf));
  return [...new Set([program, ...modules, ...firmware, ...libraries.flat()])];
}

function firstOf(folders: readonly string[], name: string): readonly string[] {
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  return found === undefined ? [] : [found];
}

async function librariesOf(program: string): Promise<readonly string[]> {
  const options = { timeout: LIST_MS, maxBuffer: 1 << 20, env: { PATH: "/usr/bin:/bin" } };
  const { stdout } = await promisify(execFile)("ldd", [program], options).catch((cause: { stderr?: string }) => {
    if (cause.stderr?.includes("not a dynamic executable") === true) return { stdout: "" };
    throw new AgentKernelError("backend_unavailable", `the libraries of ${program} cannot be listed`, { cause });
  });
  return [...stdout.matchAll(/(?:=>\s+)?(\/\S+)\s+\(0x/g)].map(([, path = ""]) => path);
}

async function copyAll(sources: readonly string[], root: string): Promise<void> {
  const unfinished = `${root}.${randomBytes(6).toString("hex")}`;
  try {
    for (const path of sources) {
      const to = join(unfinished, path);
      // Under its own folder of firmware QEMU looks for all of it.
      await mkdir(dirname(to), { recursive: true, mode: 0o755 });
      await copyFile(path, to);
      await chmod(to, path.includes(".so") || path === sources[0] ? 0o755 : 0o644);
    }
    await rename(unfinished, root).catch((error: NodeJS.ErrnoException) => {
      // Another process was quicker, with the same.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}
