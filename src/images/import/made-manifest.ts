/** A manifest for an image that came without one. The same image gets the same manifest on every machine. */
import { type Digest, digestOf } from "../digest.js";
import { type ImageManifest, type LayerDescriptor, parseManifest } from "../manifest.js";
import type { Platform } from "../platform.js";

const kinds = {
  docker: {
    manifest: "application/vnd.docker.distribution.manifest.v2+json",
    config: "application/vnd.docker.container.image.v1+json",
    layer: {
      none: "application/vnd.docker.image.rootfs.diff.tar",
      gzip: "application/vnd.docker.image.rootfs.diff.tar.gzip",
      zstd: "application/vnd.docker.image.rootfs.diff.tar.zstd",
    },
  },
  oci: {
    manifest: "application/vnd.oci.image.manifest.v1+json",
    config: "application/vnd.oci.image.config.v1+json",
    layer: {
      none: "application/vnd.oci.image.layer.v1.tar",
      gzip: "application/vnd.oci.image.layer.v1.tar+gzip",
      zstd: "application/vnd.oci.image.layer.v1.tar+zstd",
    },
  },
} as const;

interface MadeManifest {
  readonly documents: readonly [Buffer];
  readonly digest: Digest;
  readonly manifestDigest: Digest;
  readonly manifest: ImageManifest;
}

export function madeManifest(
  kind: keyof typeof kinds,
  config: Buffer,
  layers: readonly LayerDescriptor[],
): MadeManifest {
  const types = kinds[kind];
  const bytes = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: types.manifest,
      config: { mediaType: types.config, digest: digestOf(config), size: config.length },
      layers: layers.map(({ digest, sizeBytes, compression }) => ({
        mediaType: types.layer[compression],
        digest,
        size: sizeBytes,
      })),
    }),
  );
  const manifest = parseManifest(bytes, types.manifest);
  if (manifest.kind === "index") throw new Error("a manifest of ours reads as an index");
  const digest = digestOf(bytes);
  return { documents: [bytes], digest, manifestDigest: digest, manifest };
}

/** The configuration of an image that is nothing but a root filesystem. */
export function madeConfig({ os, architecture, variant }: Platform, diffId: Digest): Buffer {
  return Buffer.from(
    JSON.stringify({
      architecture,
      os,
      ...(variant === null ? {} : { variant }),
      config: {},
      rootfs: { type: "layers", diff_ids: [diffId] },
    }),
  );
}
