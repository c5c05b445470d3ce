/** Finds an image in an OCI layout, be it a folder or an archive, and in the folders that skopeo's `dir:` writes. */
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { Content, ImageFiles } from "../archive/content.js";
import { type Digest, digestHex, digestOf, isDigest } from "../digest.js";
import { asObject, fieldOf, type JsonObject, parseJsonObject, textField } from "../json-shape.js";
import { choosePlatform, type ImageManifest, parseManifest } from "../manifest.js";
import type { Platform } from "../platform.js";
import { documentNamed, documentOf, type ImagePlan, lacks, noSuchImage, severalImages, type Wanted } from "./plan.js";

const MAX_INDEX_DEPTH = 4;
/** The first is what containerd and Docker write, the second what the specification knows: often a tag alone. */
const nameKeys = ["io.containerd.image.name", "org.opencontainers.image.ref.name"] as const;

const blobName = (digest: Digest): string => `blobs/sha256/${digestHex(digest)}`;

export async function planFromLayout(files: ImageFiles, wanted: Wanted, platform: Platform): Promise<ImagePlan> {
  const index = parseJsonObject(await documentNamed(files, "index.json"));
  const listed = index === null ? null : fieldOf(index, "manifests");
  if (!Array.isArray(listed)) throw lacks("a readable index.json");
  const entries = listed.map((value: unknown) => entryOf(asObject(value)));
  const { digest, name } = choose(entries, wanted);
  const documents: Buffer[] = [];
  for (let at = digest, depth = 0; depth < MAX_INDEX_DEPTH; depth += 1) {
    const bytes = await documentOf(files, blobName(at), at);
    documents.push(bytes);
    const manifest = parseManifest(bytes, "");
    if (manifest.kind === "image") {
      const parts = await partsOf(files, manifest, blobName);
      return { name, documents, digest, manifestDigest: at, manifest, ...parts };
    }
    at = choosePlatform(manifest, platform).digest;
  }
  throw new AgentKernelError("image_invalid", "what is to be imported has an index of indexes without an image");
}

/** `dir:`: one manifest, and beside it each blob under its digits. */
export async function planFromDirFolder(files: ImageFiles): Promise<ImagePlan> {
  const bytes = await documentNamed(files, "manifest.json");
  const manifest = parseManifest(bytes, "");
  if (manifest.kind === "index") throw lacks("an image: its manifest.json is an index");
  const digest = digestOf(bytes);
  const parts = await partsOf(files, manifest, digestHex);
  return { name: null, documents: [bytes], digest, manifestDigest: digest, manifest, ...parts };
}

interface LayoutEntry {
  readonly digest: Digest;
  readonly names: readonly string[];
}

function entryOf(object: JsonObject | null): LayoutEntry {
  const digest = object === null ? null : fieldOf(object, "digest");
  if (object === null || !isDigest(digest)) throw lacks("a digest in its index.json");
  const annotations = asObject(fieldOf(object, "annotations")) ?? {};
  return { digest, names: nameKeys.flatMap((key) => textField(annotations, key) ?? []) };
}

function choose(entries: readonly LayoutEntry[], { name }: Wanted): { digest: Digest; name: string | null } {
  const [first] = entries;
  const known = entries.flatMap(({ names }) => names.slice(0, 1).map((text) => escapeText(text)));
  if (first === undefined) throw lacks("any image");
  if (name !== null) {
    const found = entries.find(({ names }) => names.includes(name));
    if (found === undefined) throw noSuchImage(name, known);
    return { digest: found.digest, name };
  }
  // One image under several tags is one image.
  if (entries.some(({ digest }) => digest !== first.digest)) throw severalImages(known);
  return { digest: first.digest, name: first.names[0] ?? null };
}

async function partsOf(
  files: ImageFiles,
  { config, layers }: ImageManifest,
  nameOf: (digest: Digest) => string,
): Promise<{ config: Buffer; layers: Content[] }> {
  const contents: Content[] = [];
  for (const { digest, sizeBytes } of layers) {
    const content = await files.find(nameOf(digest));
    if (content === null) throw lacks(`layer ${digest}`);
    if (content.sizeBytes !== sizeBytes) {
      const message = `layer ${digest} has ${content.sizeBytes} bytes and should have ${sizeBytes}`;
      throw new AgentKernelError("image_invalid", message, { hint: "it was cut short, or is damaged" });
    }
    contents.push(content);
  }
  return { config: await documentOf(files, nameOf(config.digest), config.digest), layers: contents };
}
