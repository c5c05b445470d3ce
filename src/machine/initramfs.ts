/**
 * What a machine's kernel starts with: our own programs, and drivers where the kernel lacks them. Made once for each
 * build of ours and each kernel, and kept in the cache, where it appears by rename.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nativeBinary } from "../core/native-binary.js";
import { textIfThere } from "../core/text-if-there.js";
import { CHARACTER_DEVICE, type CpioEntry, cpioArchive, FILE, FOLDER } from "./cpio.js";
import type { KernelSet } from "./kernel-set.js";

export interface Initramfs {
  readonly path: string;
  readonly digest: string;
}

const NAME = "initramfs";
const DIGEST_NAME = "digest";
/** Other builds and kernels that were used of late stay. */
const MAX_ENTRIES = 4;
/** Keeps files that another process may still be writing. */
const UNFINISHED_MS = 10 * 60_000;
/** Program → its path in the machine. */
const PROGRAMS = [
  ["ak-init", "init"],
  ["ak-entry", "agentkernel/ak-entry"],
  ["ak-guest", "agentkernel/ak-guest"],
] as const;

/** In `folder`, the owner's own. `programOf`: where a program of ours lies. */
export function ensureInitramfs(set: KernelSet, folder: string, programOf = nativeBinary): Initramfs {
  const programs = PROGRAMS.map(([name, path]) => ({ source: programOf(name), path }));
  const place = join(folder, NAME);
  const entry = join(
    place,
    keyOf(
      set,
      programs.map(({ source }) => source),
    ),
  );
  const known = read(entry);
  if (known !== null) return known;
  mkdirSync(place, { recursive: true, mode: 0o700 });
  const unfinished = join(place, `.${randomUUID()}`);
  try {
    mkdirSync(unfinished, { mode: 0o700 });
    const content = initramfs(programs, set.modules === null ? null : readFileSync(set.modules));
    writeFileSync(join(unfinished, NAME), content, { mode: 0o644, flush: true });
    writeFileSync(join(unfinished, DIGEST_NAME), createHash("sha256").update(content).digest("hex"), { flush: true });
    renameSync(unfinished, entry);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another process of ours was quicker.
    const made = read(entry);
    if (made === null) throw error;
    return made;
  }
  prune(place, entry);
  const made = read(entry);
  if (made === null) throw new Error(`${entry} was taken away while it was made`);
  return made;
}

function initramfs(
  programs: readonly { readonly source: string; readonly path: string }[],
  modules: Buffer | null,
): Buffer {
  const entries: CpioEntry[] = [
    { path: "dev", mode: FOLDER | 0o755 },
    // A program of Rust's does not start without it where there is no console.
    { path: "dev/null", mode: CHARACTER_DEVICE | 0o666, device: [1, 3] },
    { path: "agentkernel", mode: FOLDER | 0o755 },
    ...programs.map(({ source, path }) => ({ path, mode: FILE | 0o755, content: readFileSync(source) })),
  ];
  return Buffer.concat([cpioArchive(entries), modules ?? Buffer.alloc(0)]);
}

/** By what the files are on disk: reading them all would take longer than starting a machine from a template. */
function keyOf(set: KernelSet, sources: readonly string[]): string {
  const hash = createHash("sha256").update(set.digest);
  for (const source of sources) {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(source);
    hash.update(` ${source} ${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`);
  }
  return hash.digest("hex");
}

function read(entry: string): Initramfs | null {
  const digest = textIfThere(join(entry, DIGEST_NAME));
  if (digest === null) return null;
  const now = new Date();
  utimesSync(entry, now, now);
  return { path: join(entry, NAME), digest };
}

/** The oldest go; a machine that starts from one has it open. */
function prune(place: string, made: string): void {
  const entries = readdirSync(place)
    .map((name) => ({ name, path: join(place, name) }))
    .filter(({ path }) => path !== made)
    .map(({ name, path }) => ({ path, usedAtMs: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0, name }))
    .sort((a, b) => b.usedAtMs - a.usedAtMs);
  let kept = 1;
  for (const { name, path, usedAtMs } of entries) {
    const isUnfinished = name.startsWith(".");
    if (isUnfinished && Date.now() - usedAtMs < UNFINISHED_MS) continue;
    if (!isUnfinished && kept++ < MAX_ENTRIES) continue;
    rmSync(path, { recursive: true, force: true });
  }
}
