/** Content addresses. Only sha256: what cannot be checked with it is refused. */

/** `sha256:` and 64 lower-case hexadecimal digits. */
export type Digest = `sha256:${string}`;

const PATTERN = /^sha256:[0-9a-f]{64}$/;

export function isDigest(value: unknown): value is Digest {
  return typeof value === "string" && PATTERN.test(value);
}

/** Hashing is loaded when it is first needed: references and records are read by runs that hash nothing. */
export function digestOf(bytes: Uint8Array | string): Digest {
  const { createHash } = process.getBuiltinModule("node:crypto");
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

export function digestFromHex(hex: string): Digest {
  return `sha256:${hex}`;
}

/** The 64 digits, safe as a file name. */
export function digestHex(digest: Digest): string {
  return digest.slice("sha256:".length);
}

/** Enough of it to recognise. */
export function shortDigest(digest: Digest): string {
  return digest.slice(0, "sha256:".length + 12);
}
