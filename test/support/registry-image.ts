/** Small images made by hand: layers of any bytes, a configuration, a manifest, and an index over several platforms. */
import { createCipheriv, createHash } from "node:crypto";
import type { Digest } from "../../src/images/digest.js";

export interface MadeDocument {
  readonly bytes: Buffer;
  readonly digest: Digest;
  readonly mediaType: string;
}

export interface MadeImage {
  readonly manifest: MadeDocument;
  readonly config: MadeDocument;
  readonly layers: readonly MadeDocument[];
}

interface ImageOptions {
  readonly layers: readonly Buffer[];
  readonly architecture?: string;
  readonly layerType?: string;
  readonly diffIds?: readonly string[];
  readonly config?: Readonly<Record<string, unknown>>;
}

export function sha256(bytes: Uint8Array | string): Digest {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

export function documentOf(content: Buffer | object, mediaType: string): MadeDocument {
  const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  return { bytes, digest: sha256(bytes), mediaType };
}

export function descriptorOf({ bytes, digest, mediaType }: MadeDocument): Record<string, unknown> {
  return { mediaType, digest, size: bytes.length };
}

export function makeImage(options: ImageOptions): MadeImage {
  const layers = options.layers.map((bytes) =>
    documentOf(bytes, options.layerType ?? "application/vnd.oci.image.layer.v1.tar"),
  );
  const config = documentOf(
    {
      os: "linux",
      architecture: options.architecture ?? "amd64",
      config: options.config ?? {},
      rootfs: { type: "layers", diff_ids: options.diffIds ?? layers.map(({ digest }) => digest) },
    },
    "application/vnd.oci.image.config.v1+json",
  );
  const manifest = documentOf(
    {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: descriptorOf(config),
      layers: layers.map(descriptorOf),
    },
    "application/vnd.oci.image.manifest.v1+json",
  );
  return { manifest, config, layers };
}

export function makeIndex(
  entries: readonly { image: MadeImage; platform?: Readonly<Record<string, string>> }[],
): MadeDocument {
  return documentOf(
    {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.index.v1+json",
      manifests: entries.map(({ image, platform }) => ({ ...descriptorOf(image.manifest), platform })),
    },
    "application/vnd.oci.image.index.v1+json",
  );
}

/** Bytes that no compressor makes shorter; the same for the same seed. */
export function noise(length: number, seed: string): Buffer {
  const key = createHash("sha256").update(seed).digest();
  return createCipheriv("aes-256-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(length));
}
