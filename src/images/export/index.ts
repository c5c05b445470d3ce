/**
 * Writes an image of the store as an archive that Docker, Podman and skopeo read. An `oci` archive has the very bytes
 * that the registry served; a `docker` one has the layers unpacked, as `docker save` has them. It changes nothing.
 */
import { createHash } from "node:crypto";
import type { Writable } from "node:stream";
import { AgentKernelError } from "../../core/errors.js";
import { uncompressed } from "../archive/compression.js";
import { type Content, fileContent } from "../archive/content.js";
import { type Digest, digestFromHex, digestHex, digestOf, shortDigest } from "../digest.js";
import { parseImageConfig } from "../image-config.js";
import type { LayerDescriptor } from "../manifest.js";
import { canonicalForm, familiarForm, parseReference } from "../reference.js";
import { digestsOf, type ImageRecord, type ImageStore } from "../store/index.js";
import { TarWriter } from "./tar-writer.js";

export const exportFormats = ["oci", "docker"] as const;
export type ExportFormat = (typeof exportFormats)[number];

interface ExportOptions {
  readonly store: ImageStore;
  readonly format: ExportFormat;
  readonly signal?: AbortSignal;
}

/** The stream stays open: whoever made it ends it. */
export async function exportImage(record: ImageRecord, out: Writable, options: ExportOptions): Promise<void> {
  const pin = await options.store.pin(digestsOf(record), options.signal);
  try {
    const tar = new TarWriter(out, options.signal);
    if (options.format === "oci") await writeLayout(tar, record, options);
    else await writeDockerArchive(tar, record, options);
    await tar.finish();
  } finally {
    await pin.release();
  }
}

async function writeLayout(tar: TarWriter, record: ImageRecord, { store, signal }: ExportOptions): Promise<void> {
  const addBytes = (name: string, bytes: Buffer): Promise<void> => tar.add(name, bytes.length, [bytes]);
  const manifest = await store.blobs.read(record.manifestDigest);
  await addBytes("oci-layout", Buffer.from('{"imageLayoutVersion":"1.0.0"}'));
  await addBytes("index.json", Buffer.from(JSON.stringify(layoutIndex(record, manifest))));
  await addBytes(blobName(record.manifestDigest), manifest);
  await addBytes(blobName(record.config.digest), await store.blobs.read(record.config.digest));
  for (const layer of distinct(record.layers)) {
    const content = await layerContent(store, layer);
    await tar.add(blobName(layer.digest), content.sizeBytes, checked(content.read(0), layer.digest, signal));
  }
}

/** Only this machine's image is in the store, so the index lists that one, whatever the registry's index lists. */
function layoutIndex(record: ImageRecord, manifest: Buffer): object {
  const { mediaType }: { mediaType?: unknown } = JSON.parse(manifest.toString("utf8"));
  const name = tagged(record.reference);
  return {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: [
      {
        mediaType: typeof mediaType === "string" ? mediaType : "application/vnd.oci.image.manifest.v1+json",
        digest: record.manifestDigest,
        size: manifest.length,
        ...(name === null
          ? {}
          : {
              annotations: {
                "io.containerd.image.name": canonicalForm(name),
                "org.opencontainers.image.ref.name": canonicalForm(name),
              },
            }),
      },
    ],
  };
}

async function writeDockerArchive(
  tar: TarWriter,
  record: ImageRecord,
  { store, signal }: ExportOptions,
): Promise<void> {
  const config = await store.blobs.read(record.config.digest);
  const { diffIds } = parseImageConfig(config);
  const id = digestHex(digestOf(config));
  const written = new Set<Digest>();
  for (const [position, layer] of record.layers.entries()) {
    const diffId = diffIds[position];
    if (diffId === undefined) throw new AgentKernelError("image_invalid", "the image lacks the digest of a layer");
    if (written.has(diffId)) continue;
    written.add(diffId);
    const content = await layerContent(store, layer);
    const plain = (): AsyncIterable<Buffer> => uncompressed(content.read(0), layer.compression);
    const sizeBytes = layer.compression === "none" ? content.sizeBytes : await lengthOf(plain(), signal);
    await tar.add(layerName(diffId), sizeBytes, checked(plain(), diffId, signal));
  }
  await tar.add(`${id}.json`, config.length, [config]);
  const name = tagged(record.reference);
  const listed = [
    {
      Config: `${id}.json`,
      RepoTags: name === null ? [] : [familiarForm(name)],
      Layers: diffIds.map(layerName),
    },
  ];
  const manifest = Buffer.from(JSON.stringify(listed));
  await tar.add("manifest.json", manifest.length, [manifest]);
}

const blobName = (digest: Digest): string => `blobs/sha256/${digestHex(digest)}`;
const layerName = (diffId: Digest): string => `${digestHex(diffId)}.tar`;

/** Other tools know names with tags only. */
function tagged(reference: string): ReturnType<typeof parseReference> | null {
  const parsed = parseReference(reference);
  return parsed.tag === null ? null : { ...parsed, digest: null };
}

function distinct(layers: readonly LayerDescriptor[]): LayerDescriptor[] {
  return [...new Map(layers.map((layer) => [layer.digest, layer])).values()];
}

async function layerContent(store: ImageStore, { digest }: LayerDescriptor): Promise<Content> {
  const content = await fileContent(store.blobs.path(digest));
  if (content !== null) return content;
  throw new AgentKernelError("image_unavailable", `layer ${shortDigest(digest)}… is not in the store`, {
    hint: "pull the image again",
  });
}

async function lengthOf(source: AsyncIterable<Buffer>, signal?: AbortSignal): Promise<number> {
  let length = 0;
  for await (const part of source) {
    signal?.throwIfAborted();
    length += part.length;
  }
  return length;
}

/** What was damaged on disk since it came in must not be handed on as if it were whole. */
async function* checked(
  source: AsyncIterable<Buffer>,
  digest: Digest,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  const hash = createHash("sha256");
  for await (const part of source) {
    signal?.throwIfAborted();
    hash.update(part);
    yield part;
  }
  if (digestFromHex(hash.digest("hex")) === digest) return;
  throw new AgentKernelError("digest_mismatch", `${shortDigest(digest)}… in the image store is damaged`, {
    hint: "remove the image and pull it again",
  });
}
