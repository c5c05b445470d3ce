/** Which drivers of a distribution's kernel a machine needs, and in which order they find each other. */
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { type CpioEntry, cpioArchive, FILE, FOLDER } from "./cpio.js";

/** What a kernel must have to show a project without a copy of it. */
export const FUSE = "fuse";

/** By the names that the kernel's own tools use. What these need is added. */
const WANTED = [
  ...["virtio_mmio", "virtio_blk", "virtio_console", "virtio_rng", "erofs", "overlay"],
  // Of the disks of machines that stay; that it needs the first no driver declares.
  ...["crc32c_generic", "ext4"],
  ...["nf_tables", "nft_chain_nat", "nft_redir", "nft_reject_inet"],
  ...["vsock", "vmw_vsock_virtio_transport"],
  // Of projects that are shown without being copied.
  FUSE,
];
const SUFFIX = ".ko";
/** Of an archive: what its list of drivers lies in. */
const LIST_WITHIN_BYTES = 4096;

export interface KernelModule {
  readonly name: string;
  readonly content: Buffer;
  readonly needs: readonly string[];
}

/** The part of a first filesystem that has the drivers below `folder` (`lib/modules/VERSION`), in order. */
export function modulesArchive(folder: string): Buffer {
  const modules = inOrder(WANTED, moduleReader(folder));
  const list = modules.map(({ name }) => `${name}${SUFFIX}\n`).join("");
  const entries: CpioEntry[] = [
    { path: "modules", mode: FOLDER | 0o755 },
    { path: "modules/list", mode: FILE | 0o644, content: Buffer.from(list) },
    ...modules.map(({ name, content }) => ({ path: `modules/${name}${SUFFIX}`, mode: FILE | 0o644, content })),
  ];
  return cpioArchive(entries);
}

/** What such an archive has, by the list at its beginning. */
export function listedModules(archive: string): readonly string[] {
  const file = openSync(archive, "r");
  try {
    const start = Buffer.alloc(LIST_WITHIN_BYTES);
    const text = start.toString("latin1", 0, readSync(file, start, 0, LIST_WITHIN_BYTES, 0));
    return [...text.matchAll(/([a-z0-9_]+)\.ko\n/g)].map((match) => match[1] ?? "");
  } finally {
    closeSync(file);
  }
}

/** Each behind all that it needs. `null` is a driver that the kernel was built with. */
export function inOrder(
  wanted: readonly string[],
  read: (name: string) => KernelModule | null,
): readonly KernelModule[] {
  const ordered = new Map<string, KernelModule | null>();
  const add = (name: string, trail: readonly string[]): void => {
    if (ordered.has(name)) return;
    if (trail.includes(name)) throw unusable(`drivers need each other in a circle: ${[...trail, name].join(", ")}`);
    const module = read(name);
    for (const need of module?.needs ?? []) add(need, [...trail, name]);
    ordered.set(name, module);
  };
  for (const name of wanted) add(name, []);
  return [...ordered.values()].filter((module) => module !== null);
}

/** What a driver says that it needs, in its own section of plain texts. */
export function needsOf(content: Buffer): readonly string[] {
  const start = content.indexOf("\0depends=", 0, "latin1");
  if (start < 0) return [];
  const from = start + "\0depends=".length;
  const text = content.toString("latin1", from, content.indexOf(0, from));
  return text === "" ? [] : text.split(",").map(canonical);
}

function moduleReader(folder: string): (name: string) => KernelModule | null {
  const files = new Map(
    readdirSync(join(folder, "kernel"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(SUFFIX))
      .map((path) => [canonical(basename(path, SUFFIX)), join(folder, "kernel", path)]),
  );
  const builtIn = new Set(
    readFileSync(join(folder, "modules.builtin"), "utf8")
      .split("\n")
      .map((path) => canonical(basename(path, SUFFIX))),
  );
  return (name) => {
    const path = files.get(name);
    if (path !== undefined) {
      const content = readFileSync(path);
      return { name, content, needs: needsOf(content) };
    }
    if (builtIn.has(name)) return null;
    throw unusable(`it has no driver ${name}`);
  };
}

/** Files are named with either sign. */
function canonical(name: string): string {
  return name.replaceAll("-", "_");
}

function unusable(why: string): AgentKernelError {
  return new AgentKernelError("layer_unavailable", `this kernel cannot run sandboxes: ${why}`, {
    hint: "take Debian's linux-image-cloud-amd64, or build images/kernel",
  });
}
