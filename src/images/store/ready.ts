/**
 * Images that a sandbox can start from at once: unpacked, with what a command in them starts with. One small file says
 * all of it, read by every run, so nothing here loads more than the file system.
 */
import { statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { textIfThere } from "../../core/text-if-there.js";
import { recordKey } from "./record-key.js";

export interface ReadyImage {
  /** Canonical form. */
  readonly reference: string;
  readonly platform: string;
  /** What the reference pointed to when it was unpacked. */
  readonly digest: string;
  readonly manifestDigest: string;
  /** `NAME=value`, in order. */
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly workdir: string | null;
  readonly user: string | null;
  /** Names of the layers' folders, the uppermost first. */
  readonly layers: readonly string[];
}

export function readyPath(root: string, reference: string, platform: string): string {
  return join(root, "ready", `${recordKey(reference, platform)}.json`);
}

export function layerFolder(root: string, layer: string): string {
  return join(root, "layers", layer, "fs");
}

/** Null where there is none that is whole. A store of somebody else's is not believed; opening it says why. */
export function findReady(root: string, reference: string, platform: string): ReadyImage | null {
  if (statSync(root, { throwIfNoEntry: false })?.uid !== process.geteuid?.()) return null;
  const ready = readReady(readyPath(root, reference, platform));
  if (ready === null || ready.reference !== reference) return null;
  return ready.layers.every((layer) => isFolder(layerFolder(root, layer))) ? ready : null;
}

/** Notes that the image was used now: the least recently used goes first when room is needed. */
export function noteUse(root: string, reference: string, platform: string): void {
  const now = new Date();
  try {
    utimesSync(join(root, "refs", `${recordKey(reference, platform)}.json`), now, now);
  } catch (error) {
    // Removed meanwhile, or a store that is not ours to write: neither is this run's concern.
    if (!(error instanceof Error && "code" in error)) throw error;
  }
}

export function readReady(path: string): ReadyImage | null {
  const text = textIfThere(path);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isReady(value) ? value : null;
  } catch {
    // Damaged: it is made anew from the blobs.
    return null;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isReady(value: unknown): value is ReadyImage {
  if (typeof value !== "object" || value === null) return false;
  const ready = value as Readonly<Record<string, unknown>>;
  const isText = (name: string): boolean => typeof ready[name] === "string";
  const isTextOrNull = (name: string): boolean => ready[name] === null || isText(name);
  const areTexts = (name: string): boolean => {
    const list = ready[name];
    return Array.isArray(list) && list.every((item) => typeof item === "string");
  };
  return (
    ["reference", "platform", "digest", "manifestDigest"].every(isText) &&
    ["workdir", "user"].every(isTextOrNull) &&
    ["env", "entrypoint", "cmd", "layers"].every(areTexts) &&
    (ready.layers as readonly string[]).every((layer) => /^[0-9a-f]{64}$/.test(layer))
  );
}
