/** What a source holds, found and checked in shape, before anything of it is brought into the store. */
import { AgentKernelError } from "../../core/errors.js";
import { type Content, type ImageFiles, readAll } from "../archive/content.js";
import { type Digest, digestOf, shortDigest } from "../digest.js";
import { type ImageManifest, MAX_CONFIG_BYTES } from "../manifest.js";

const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;

export interface ImagePlan {
  /** What the source calls the image: a reference, or only a tag; null where it says nothing. */
  readonly name: string | null;
  /** The bytes of all manifests on the way to the platform's own, the outermost first. */
  readonly documents: readonly Buffer[];
  readonly digest: Digest;
  readonly manifestDigest: Digest;
  readonly manifest: ImageManifest;
  readonly config: Buffer;
  /** In the order of the manifest's. */
  readonly layers: readonly Content[];
}

/** What the user asked for of a source that may hold several images. */
export interface Wanted {
  readonly name: string | null;
}

export function lacks(what: string): AgentKernelError {
  return new AgentKernelError("image_invalid", `what is to be imported lacks ${what}`, {
    hint: "it was cut short, or is no image; save it again",
  });
}

export async function documentNamed(files: ImageFiles, name: string, maxBytes = MAX_DOCUMENT_BYTES): Promise<Buffer> {
  const content = await files.find(name);
  if (content === null) throw lacks(name);
  const bytes = await readAll(content, maxBytes);
  if (bytes !== null) return bytes;
  throw new AgentKernelError("image_invalid", `${name} in what is to be imported is larger than ${maxBytes} bytes`);
}

/** A manifest or a configuration, which must be what its digest says. */
export async function documentOf(files: ImageFiles, name: string, digest: Digest): Promise<Buffer> {
  const bytes = await documentNamed(files, name, MAX_CONFIG_BYTES);
  const found = digestOf(bytes);
  if (found === digest) return bytes;
  throw new AgentKernelError(
    "digest_mismatch",
    `what is to be imported has ${shortDigest(found)}… where ${shortDigest(digest)}… must be`,
    { hint: "it is damaged or was changed; nothing of it was used" },
  );
}

export function severalImages(names: readonly string[]): AgentKernelError {
  const known = names.slice(0, 20).join(", ");
  return new AgentKernelError("invalid_argument", "there are several images, and it is not said which one is wanted", {
    hint: known === "" ? "save the one that is wanted alone" : `name one of them after a colon: ${known}`,
  });
}

export function noSuchImage(name: string, names: readonly string[]): AgentKernelError {
  return new AgentKernelError("image_not_found", `there is no image "${name}" in what is to be imported`, {
    hint: names.length === 0 ? "it has no names; leave the name out" : `it has ${names.slice(0, 20).join(", ")}`,
  });
}
