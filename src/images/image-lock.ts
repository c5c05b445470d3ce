/**
 * `agentkernel.lock`: the digest that each image of a project is held to, so that a tag that moves changes nothing until
 * somebody says so. Text to value and back; no file is touched here.
 */
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import { type Digest, isDigest } from "./digest.js";
import { asObject, fieldOf, parseJsonObject, textField } from "./json-shape.js";
import { canonicalForm, familiarForm, type ImageReference, parseReference } from "./reference.js";

export const LOCK_FILE_NAME = "agentkernel.lock";
const VERSION = 1;
export const MAX_LOCK_BYTES = 1024 * 1024;

/** Canonical reference without a digest → what it is held to: an index where the registry has one. */
export type ImageLock = ReadonlyMap<string, Digest>;

export const emptyLock: ImageLock = new Map();

export function parseLock(bytes: Uint8Array, path: string): ImageLock {
  const refuse = (why: string): AgentKernelError =>
    new AgentKernelError("invalid_policy", `${escapeText(path)} ${why}`, {
      hint: "restore it from version control, or remove it and lock again: agentkernel images lock NAME",
    });
  if (bytes.length > MAX_LOCK_BYTES) throw refuse("is larger than 1 MiB");
  const object = parseJsonObject(bytes);
  if (object === null) throw refuse("is not the JSON that images lock writes");
  const version = fieldOf(object, "version");
  if (version !== VERSION)
    throw refuse(`is of a version that is not known: ${escapeText(String(version).slice(0, 20))}`);
  const images = asObject(fieldOf(object, "images"));
  if (images === null) throw refuse('has no table "images"');
  const unknown = Object.keys(object).find((key) => key !== "version" && key !== "images");
  if (unknown !== undefined) throw refuse(`has an unknown key "${escapeText(unknown.slice(0, 50))}"`);
  const lock = new Map<string, Digest>();
  for (const [name, value] of Object.entries(images)) {
    const shown = escapeText(name.slice(0, 100));
    const digest = textField(asObject(value) ?? {}, "digest");
    if (!isDigest(digest)) throw refuse(`has no digest (sha256: and 64 digits) for "${shown}"`);
    const key = keyOf(name);
    if (key === null) throw refuse(`locks "${shown}", which is no image with a tag`);
    if (lock.has(key)) throw refuse(`locks "${shown}" twice`);
    lock.set(key, digest);
  }
  return lock;
}

function keyOf(name: string): string | null {
  try {
    const reference = parseReference(name);
    return reference.digest === null ? lockKey(reference) : null;
  } catch {
    // The file is at fault, and is named by the caller.
    return null;
  }
}

export function lockKey({ registry, repository, tag }: ImageReference): string {
  return canonicalForm({ registry, repository, tag, digest: null });
}

/** Sorted, one image a line: made for reading in a diff. */
export function formatLock(lock: ImageLock): string {
  const lines = [...lock]
    .map(([name, digest]) => [familiarForm(parseReference(name)), digest] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, digest]) => `    ${JSON.stringify(name)}: { "digest": ${JSON.stringify(digest)} }`);
  return `{\n  "version": ${VERSION},\n  "images": {\n${lines.join(",\n")}${lines.length === 0 ? "" : "\n"}  }\n}\n`;
}

/** The reference to use: with the digest that it is locked to, if it is. One that names a digest already says enough. */
export function lockedReference(lock: ImageLock, reference: ImageReference): ImageReference {
  if (reference.digest !== null) return reference;
  const digest = lock.get(lockKey(reference));
  return digest === undefined ? reference : { ...reference, digest };
}
