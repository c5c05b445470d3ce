/** Manifests and indexes: from bytes that a registry sent to values that can be trusted in shape and size. */
import { AgentKernelError } from "../core/errors.js";
import { escapeText } from "../core/escape.js";
import { type Digest, isDigest } from "./digest.js";
import { asObject, fieldOf, type JsonObject, parseJsonObject, textField } from "./json-shape.js";
import {
  configMediaTypes,
  imageMediaTypes,
  indexMediaTypes,
  type LayerCompression,
  layerCompression,
} from "./media-types.js";
import { type Platform, platformDistance, platformText } from "./platform.js";

export interface BlobDescriptor {
  readonly digest: Digest;
  readonly sizeBytes: number;
}

export interface LayerDescriptor extends BlobDescriptor {
  readonly compression: LayerCompression;
}

export interface ImageManifest {
  readonly kind: "image";
  readonly config: BlobDescriptor;
  /** Lowest first. */
  readonly layers: readonly LayerDescriptor[];
}

interface IndexEntry extends BlobDescriptor {
  readonly platform: Platform | null;
}

interface ImageIndex {
  readonly kind: "index";
  readonly entries: readonly IndexEntry[];
}

/** The kernel takes no more lower folders in one overlay, and no real image has near as many. */
export const MAX_LAYERS = 256;
export const MAX_CONFIG_BYTES = 8 * 1024 * 1024;
/** Compressed. It only rejects nonsense. */
const MAX_LAYER_BYTES = 64 * 1024 ** 3;

function invalid(why: string, hint = "it cannot be used as a root filesystem"): AgentKernelError {
  return new AgentKernelError("image_invalid", `the image's manifest ${why}`, { hint });
}

export function parseManifest(bytes: Uint8Array, contentType: string): ImageManifest | ImageIndex {
  const object = parseJsonObject(bytes);
  if (object === null) throw invalid("is no JSON object");
  if (fieldOf(object, "schemaVersion") !== 2) {
    throw invalid("is of the retired schema 1, or of none", "push the image again with a current tool");
  }
  // One text that is an index to one reader and an image to another could pass for either.
  const hasEntries = fieldOf(object, "manifests") !== undefined;
  const hasLayers = fieldOf(object, "layers") !== undefined || fieldOf(object, "config") !== undefined;
  if (hasEntries === hasLayers) throw invalid("is neither clearly an image nor clearly an index");
  const expected = hasEntries ? indexMediaTypes : imageMediaTypes;
  for (const type of [textField(object, "mediaType"), contentType === "" ? null : contentType]) {
    if (type !== null && !expected.includes(type)) throw invalid(`calls itself ${escapeText(type.slice(0, 100))}`);
  }
  return hasEntries ? parseIndex(object) : parseImage(object);
}

function parseImage(object: JsonObject): ImageManifest {
  const config = asObject(fieldOf(object, "config"));
  const layers = fieldOf(object, "layers");
  if (config === null || !Array.isArray(layers)) throw invalid("has no configuration or no layers");
  if (!configMediaTypes.includes(textField(config, "mediaType") ?? "")) {
    throw invalid("is of something other than a container image", "an artifact or a chart is no root filesystem");
  }
  if (layers.length > MAX_LAYERS) throw invalid(`has ${layers.length} layers, more than ${MAX_LAYERS}`);
  return {
    kind: "image",
    config: parseDescriptor(config, MAX_CONFIG_BYTES),
    layers: layers.map((layer: unknown) => parseLayer(asObject(layer))),
  };
}

function parseLayer(object: JsonObject | null): LayerDescriptor {
  const mediaType = object === null ? null : textField(object, "mediaType");
  if (object === null || mediaType === null) throw invalid("has a layer that is none");
  const compression = layerCompression(mediaType);
  if (compression === null) {
    throw invalid(`has a layer of the kind ${escapeText(mediaType.slice(0, 100))}, which is not supported`);
  }
  return { ...parseDescriptor(object, MAX_LAYER_BYTES), compression };
}

/** Other places that a descriptor names (`urls`) are not read: they are the image's choice of whom we contact. */
function parseDescriptor(object: JsonObject, maxBytes: number): BlobDescriptor {
  const digest = fieldOf(object, "digest");
  const size = fieldOf(object, "size");
  if (!isDigest(digest)) throw invalid("has a digest that is no sha256");
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) throw invalid("has a size that is none");
  if (size > maxBytes) throw invalid(`has a part of ${size} bytes, more than the ${maxBytes} that are allowed`);
  return { digest, sizeBytes: size };
}

function parseIndex(object: JsonObject): ImageIndex {
  const manifests = fieldOf(object, "manifests");
  if (!Array.isArray(manifests)) throw invalid("has a list of manifests that is none");
  const entries = manifests.map((value: unknown): IndexEntry => {
    const entry = asObject(value);
    if (entry === null) throw invalid("lists something that is no manifest");
    return { ...parseDescriptor(entry, Number.MAX_SAFE_INTEGER), platform: parsePlatform(entry) };
  });
  return { kind: "index", entries };
}

function parsePlatform(entry: JsonObject): Platform | null {
  const platform = asObject(fieldOf(entry, "platform"));
  if (platform === null) return null;
  const variant = textField(platform, "variant");
  return {
    os: textField(platform, "os") ?? "",
    architecture: textField(platform, "architecture") ?? "",
    variant: variant === "" ? null : variant,
  };
}

/** The entry that fits best. One alone without a platform is taken on trust; its configuration is checked later. */
export function choosePlatform(index: ImageIndex, wanted: Platform): IndexEntry {
  let best: { entry: IndexEntry; distance: number } | null = null;
  for (const entry of index.entries) {
    const distance = entry.platform === null ? null : platformDistance(entry.platform, wanted);
    if (distance !== null && (best === null || distance < best.distance)) best = { entry, distance };
  }
  if (best !== null) return best.entry;
  const [only] = index.entries;
  if (index.entries.length === 1 && only?.platform === null) return only;
  throw wrongPlatform(
    wanted,
    index.entries.flatMap(({ platform }) => (platform === null ? [] : [platform])),
  );
}

export function wrongPlatform(wanted: Platform, offered: readonly Platform[]): AgentKernelError {
  const real = offered.filter(({ os }) => os !== "unknown").slice(0, 20);
  const list = real.map((platform) => escapeText(platformText(platform))).join(", ");
  return new AgentKernelError("image_not_found", `the image is not made for ${platformText(wanted)}`, {
    hint: list === "" ? "choose another image" : `it is made for ${list}`,
  });
}
