/** The kinds of manifests and layers that are understood: OCI's and Docker's. */

export const indexMediaTypes: readonly string[] = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
];

export const imageMediaTypes: readonly string[] = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];

export const manifestMediaTypes: readonly string[] = [...imageMediaTypes, ...indexMediaTypes];

export const configMediaTypes: readonly string[] = [
  "application/vnd.oci.image.config.v1+json",
  "application/vnd.docker.container.image.v1+json",
];

export const layerCompressions = ["none", "gzip", "zstd"] as const;
export type LayerCompression = (typeof layerCompressions)[number];

const compressionOf: ReadonlyMap<string, LayerCompression> = new Map<string, LayerCompression>([
  ["application/vnd.oci.image.layer.v1.tar", "none"],
  ["application/vnd.oci.image.layer.v1.tar+gzip", "gzip"],
  ["application/vnd.oci.image.layer.v1.tar+zstd", "zstd"],
  ["application/vnd.docker.image.rootfs.diff.tar", "none"],
  ["application/vnd.docker.image.rootfs.diff.tar.gzip", "gzip"],
  ["application/vnd.docker.image.rootfs.diff.tar.zstd", "zstd"],
]);

/** Null where the layer is of a kind that cannot be unpacked, or may not be distributed. */
export function layerCompression(mediaType: string): LayerCompression | null {
  return compressionOf.get(mediaType) ?? null;
}
