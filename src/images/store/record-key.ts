/** Names of files that stand for a reference and a platform. */

const MAX_NAME = 200;

/** Readable where it fits. Hashing is loaded only where it does not: a run that finds its image here never pays for it. */
export function recordKey(reference: string, platform: string): string {
  const plain = encodeURIComponent(`${reference} ${platform}`);
  if (plain.length <= MAX_NAME) return plain;
  const { createHash } = process.getBuiltinModule("node:crypto");
  return `sha256-${createHash("sha256").update(`${reference}\n${platform}`).digest("hex")}`;
}
