/** Finds an image in what `docker save` writes: a manifest.json that names files of the archive. */
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { compressionOf, SIGNATURE_BYTES } from "../archive/compression.js";
import { type Content, firstBytes, hashOf, type ImageFiles } from "../archive/content.js";
import { type Digest, digestHex, digestOf } from "../digest.js";
import { parseImageConfig } from "../image-config.js";
import { asObject, textField, textsField } from "../json-shape.js";
import { MAX_CONFIG_BYTES, MAX_LAYERS } from "../manifest.js";
import { madeManifest } from "./made-manifest.js";
import { documentNamed, type ImagePlan, lacks, noSuchImage, severalImages, type Wanted } from "./plan.js";

interface SavedImage {
  readonly config: string;
  readonly tags: readonly string[];
  readonly layers: readonly string[];
}

export async function planFromDockerArchive(files: ImageFiles, wanted: Wanted): Promise<ImagePlan> {
  const saved = savedImages(await documentNamed(files, "manifest.json"));
  const { image, name } = choose(saved, wanted);
  const config = await documentNamed(files, image.config, MAX_CONFIG_BYTES);
  checkConfigName(image.config, digestOf(config));
  const { diffIds } = parseImageConfig(config);
  if (diffIds.length !== image.layers.length) {
    throw new AgentKernelError("image_invalid", "the image's layers and its configuration do not agree in number");
  }
  const layers: Content[] = [];
  const described: { digest: Digest; content: Content; compression: "none" | "gzip" | "zstd" }[] = [];
  for (const [position, path] of image.layers.entries()) {
    const content = await files.find(path);
    const diffId = diffIds[position];
    if (content === null || diffId === undefined) throw lacks(`the layer ${escapeText(path.slice(0, 100))}`);
    const compression = compressionOf(await firstBytes(content, SIGNATURE_BYTES));
    if (compression === "xz" || compression === "bzip2") {
      throw new AgentKernelError("image_invalid", `a layer is compressed with ${compression}, which is not supported`);
    }
    // Bringing it in checks it against the digest; a compressed one has no digest yet, and is checked against diffId later.
    const digest = compression === "none" ? diffId : await hashOf(content);
    layers.push(content);
    described.push({ digest, content, compression });
  }
  const manifest = madeManifest(
    "docker",
    config,
    described.map(({ digest, content, compression }) => ({ digest, sizeBytes: content.sizeBytes, compression })),
  );
  return { name, config, layers, ...manifest };
}

function savedImages(bytes: Buffer): SavedImage[] {
  let value: unknown = null;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    // Said below, in the user's terms.
  }
  if (!Array.isArray(value) || value.length === 0) throw lacks("a readable manifest.json");
  return value.map((item: unknown) => {
    const object = asObject(item) ?? {};
    const config = textField(object, "Config");
    const layers = textsField(object, "Layers");
    const tags = textsField(object, "RepoTags");
    if (config === null || layers === null || tags === null) throw lacks("a readable manifest.json");
    if (layers.length > MAX_LAYERS) {
      throw new AgentKernelError("image_invalid", `the image has ${layers.length} layers, more than ${MAX_LAYERS}`);
    }
    return { config, layers, tags };
  });
}

function choose(saved: readonly SavedImage[], { name }: Wanted): { image: SavedImage; name: string | null } {
  const known = saved.flatMap(({ tags }) => tags.map((tag) => escapeText(tag)));
  if (name !== null) {
    const image = saved.find(({ tags }) => tags.includes(name));
    if (image === undefined) throw noSuchImage(name, known);
    return { image, name };
  }
  const [image] = saved;
  if (image === undefined || saved.length > 1) throw severalImages(known);
  return { image, name: image.tags[0] ?? null };
}

/** Docker calls the file by the image's id, which is its digest. */
function checkConfigName(path: string, digest: Digest): void {
  const named = /(?:^|\/)([0-9a-f]{64})(?:\.json)?$/.exec(path)?.[1];
  if (named === undefined || named === digestHex(digest)) return;
  throw new AgentKernelError("digest_mismatch", "the image's configuration is not the one that its name says", {
    hint: "the archive is damaged or was changed; nothing of it was used",
  });
}
