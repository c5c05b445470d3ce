/** Whether our own files are those that were released: each is compared with the digest that the release noted. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { AgentKernelError } from "../core/errors.js";
import { textIfThere } from "../core/text-if-there.js";

export interface OwnFiles {
  readonly checked: number;
  /** Those that differ or are missing. */
  readonly wrong: readonly string[];
}

interface Digests {
  /** Path below the bundle's folder → SHA-256. */
  readonly files: Readonly<Record<string, string>>;
  /** Platform → name of a native program → SHA-256. */
  readonly native: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

interface OwnPlaces {
  /** The bundle's folder. */
  readonly dist: string;
  readonly platform: string;
  readonly nativePath: (name: string) => string;
}

/** Null in a checkout, which no release has noted anything for. */
export async function checkOwnFiles({ dist, platform, nativePath }: OwnPlaces): Promise<OwnFiles | null> {
  const digests = readDigests(join(dist, "digests.json"));
  if (digests === null) return null;
  const expected = [
    ...Object.entries(digests.files).map(([name, digest]) => ({ path: join(dist, name), digest })),
    ...Object.entries(digests.native[platform] ?? {}).map(([name, digest]) => ({ path: nativePath(name), digest })),
  ];
  const wrong: string[] = [];
  for (const { path, digest } of expected) if ((await digestOf(path)) !== digest) wrong.push(path);
  return { checked: expected.length, wrong };
}

function readDigests(path: string): Digests | null {
  const text = textIfThere(path);
  if (text === null) return null;
  try {
    return JSON.parse(text) as Digests;
  } catch (cause) {
    throw new AgentKernelError("digest_mismatch", `${path} is damaged`, { hint: "install agentkernel again", cause });
  }
}

/** Null where it cannot be read. */
async function digestOf(path: string): Promise<string | null> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch (error) {
    if (error instanceof Error && "code" in error) return null;
    throw error;
  }
  return hash.digest("hex");
}
