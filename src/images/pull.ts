/** Brings an image from a registry, or one of its mirrors, into the store. */
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import { SIGNATURE_BYTES } from "./archive/compression.js";
import type { Digest } from "./digest.js";
import { parseImageConfig } from "./image-config.js";
import { checkLayerKind } from "./layer-kind.js";
import { choosePlatform, type ImageManifest, type LayerDescriptor, parseManifest, wrongPlatform } from "./manifest.js";
import { hostPlatform, type Platform, platformDistance, platformText } from "./platform.js";
import { canonicalForm, type ImageReference } from "./reference.js";
import { type ClientOptions, RegistryClient } from "./registry/client.js";
import { endpointsOf, type Mirrors } from "./registry/endpoint.js";
import { nonsense } from "./registry/failures.js";
import { type Download, digestsOf, type ImageRecord, type ImageStore } from "./store/index.js";

export interface LayerProgress {
  readonly digest: Digest;
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface PullOptions extends ClientOptions {
  readonly store: ImageStore;
  readonly platform?: Platform;
  readonly mirrors?: Mirrors;
  /** The registry itself is not asked, whatever its mirrors lack. */
  readonly mirrorsOnly?: boolean;
  /** Of registries that are no mirrors, only those on public addresses are asked. */
  readonly publicOnly?: boolean;
  readonly onProgress?: (progress: LayerProgress) => void;
  /** Layers that are downloaded side by side. */
  readonly parallel?: number;
}

export interface Pulled {
  readonly record: ImageRecord;
  /** What the reference stood for in the store before; a different digest means that the tag has moved. */
  readonly previous: ImageRecord | null;
  /** The host that served it; null where all of it was in the store already. */
  readonly from: string | null;
  /** Mirrors that failed before, and how. */
  readonly failedMirrors: readonly { readonly host: string; readonly reason: string }[];
}

const PARALLEL_LAYERS = 3;
/** An index may list indexes. */
const MAX_INDEX_DEPTH = 3;

/** Always asks the registry, except for a digest that is here: that cannot have changed. */
export async function pull(reference: ImageReference, options: PullOptions): Promise<Pulled> {
  const platform = options.platform ?? hostPlatform();
  const previous = await options.store.find(reference, platform);
  if (previous !== null && reference.digest !== null) {
    return { record: await options.store.recordAs(reference, previous), previous, from: null, failedMirrors: [] };
  }
  const endpoints = endpointsOf(reference.registry, options.mirrors, options.mirrorsOnly, options.publicOnly);
  const failedMirrors: { host: string; reason: string }[] = [];
  for (const [position, endpoint] of endpoints.entries()) {
    const stop = new AbortController();
    const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
    const client = new RegistryClient(endpoint, reference.repository, { ...options, signal });
    try {
      const job: Job = { ...options, signal, stop, client, platform };
      const record = await pullFrom(job, reference, previous);
      return { record, previous, from: record === previous ? null : endpoint.name, failedMirrors };
    } catch (error) {
      options.signal?.throwIfAborted();
      if (position === endpoints.length - 1 || !isAgentKernelError(error)) throw error;
      failedMirrors.push({ host: endpoint.name, reason: error.message });
    } finally {
      client.close();
    }
  }
  throw new Error("a registry has at least one endpoint");
}

/** A pull from one endpoint. `stop` ends all of its downloads. */
interface Job extends PullOptions {
  readonly signal: AbortSignal;
  readonly stop: AbortController;
  readonly client: RegistryClient;
  readonly platform: Platform;
}

interface Resolved {
  readonly manifest: ImageManifest;
  /** Of what the reference names, and of the platform's manifest. */
  readonly digest: Digest;
  readonly manifestDigest: Digest;
  /** The bytes of all manifests on the way, the reference's first. */
  readonly documents: readonly Buffer[];
}

async function pullFrom(job: Job, reference: ImageReference, previous: ImageRecord | null): Promise<ImageRecord> {
  const { store, client, platform, signal } = job;
  if (previous !== null && (await client.headManifest(nameOf(reference))) === previous.digest) return previous;
  const resolved = await resolve(client, reference, platform);
  const { manifest, digest, manifestDigest, documents } = resolved;
  const record: ImageRecord = {
    reference: canonicalForm(reference),
    platform: platformText(platform),
    digest,
    manifestDigest,
    config: manifest.config,
    layers: manifest.layers,
    pulledAt: new Date().toISOString(),
  };
  const pin = await store.pin(digestsOf(record), signal);
  try {
    for (const document of documents) await store.blobs.put(document);
    await bringConfig(job, manifest);
    await bringLayers(job, manifest);
    await store.records.write(record);
  } finally {
    await pin.release();
  }
  return record;
}

/** What is asked of the registry: the digest where there is one, whatever the tag says. */
function nameOf({ digest, tag }: ImageReference): string {
  return digest ?? tag ?? "latest";
}

async function resolve(client: RegistryClient, reference: ImageReference, platform: Platform): Promise<Resolved> {
  const documents: Buffer[] = [];
  let first: Digest | null = null;
  let name = nameOf(reference);
  for (let depth = 0; depth < MAX_INDEX_DEPTH; depth += 1) {
    const { bytes, mediaType, digest } = await client.getManifest(name);
    documents.push(bytes);
    first ??= digest;
    const manifest = parseManifest(bytes, mediaType);
    if (manifest.kind === "image") return { manifest, digest: first, manifestDigest: digest, documents };
    name = choosePlatform(manifest, platform).digest;
  }
  throw nonsense(client.host, "serves an index of indexes without an image");
}

/** Comes before the layers: an image that cannot run here is not downloaded. */
async function bringConfig(job: Job, { config, layers }: ImageManifest): Promise<void> {
  const { client, store, signal, platform: wanted } = job;
  await store.blobs.ensure(config, (into) => client.fetchBlob(config.digest, config.sizeBytes, into), { signal });
  const { platform, diffIds } = parseImageConfig(await store.blobs.read(config.digest));
  if (platformDistance(platform, wanted) === null) throw wrongPlatform(wanted, [platform]);
  if (diffIds.length !== layers.length) {
    throw new AgentKernelError("image_invalid", "the image's layers and its configuration do not agree in number");
  }
}

async function bringLayers(job: Job, { layers }: ImageManifest): Promise<void> {
  // An image may have the same layer twice.
  const waiting = [...new Map(layers.map((layer) => [layer.digest, layer])).values()];
  const work = async (): Promise<void> => {
    for (let layer = waiting.shift(); layer !== undefined; layer = waiting.shift()) {
      job.signal.throwIfAborted();
      await bringLayer(job, layer);
    }
  };
  const workers = Array.from({ length: job.parallel ?? PARALLEL_LAYERS }, () =>
    work().catch((error: unknown) => {
      // The others end too; what they have is kept for the next pull. The first reason is the one to tell.
      job.stop.abort(error);
    }),
  );
  await Promise.all(workers);
  job.signal.throwIfAborted();
}

async function bringLayer(
  { client, store, signal, onProgress }: Job,
  { digest, sizeBytes, compression }: LayerDescriptor,
): Promise<void> {
  let reportedBytes = -1;
  const report = (doneBytes: number): void => {
    if (doneBytes === reportedBytes) return;
    reportedBytes = doneBytes;
    onProgress?.({ digest, doneBytes, totalBytes: sizeBytes });
  };
  const download: Download = (into) =>
    client.fetchBlob(digest, sizeBytes, {
      get offset() {
        return into.offset;
      },
      write: async (chunk) => {
        await into.write(chunk);
        report(into.offset);
      },
      restart: () => into.restart(),
    });
  await store.blobs.ensure({ digest, sizeBytes }, download, { onProgress: report, signal });
  checkLayerKind(compression, await store.blobs.firstBytes(digest, SIGNATURE_BYTES), digest);
}
