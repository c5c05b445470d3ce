/** Brings a planned image into the store: every part checked against its digest, every layer against what it unpacks to. */
import { createHash } from "node:crypto";
import { AgentKernelError } from "../../core/errors.js";
import { SIGNATURE_BYTES, type UnpackLimits, uncompressed } from "../archive/compression.js";
import { type Content, fileContent } from "../archive/content.js";
import { type Digest, digestFromHex, shortDigest } from "../digest.js";
import { parseImageConfig } from "../image-config.js";
import { checkLayerKind } from "../layer-kind.js";
import { type LayerDescriptor, wrongPlatform } from "../manifest.js";
import { type Platform, platformDistance, platformText } from "../platform.js";
import type { LayerProgress } from "../pull.js";
import { canonicalForm, type ImageReference } from "../reference.js";
import { digestsOf, type ImageRecord, type ImageStore } from "../store/index.js";
import type { ImagePlan } from "./plan.js";

interface BringInOptions {
  readonly store: ImageStore;
  readonly platform: Platform;
  readonly limits?: UnpackLimits;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: LayerProgress) => void;
}

export async function bringIn(
  plan: ImagePlan,
  reference: ImageReference,
  options: BringInOptions,
): Promise<ImageRecord> {
  const { store, platform, signal } = options;
  const config = parseImageConfig(plan.config);
  if (platformDistance(config.platform, platform) === null) throw wrongPlatform(platform, [config.platform]);
  if (config.diffIds.length !== plan.manifest.layers.length) {
    throw new AgentKernelError("image_invalid", "the image's layers and its configuration do not agree in number");
  }
  const record: ImageRecord = {
    reference: canonicalForm(reference),
    platform: platformText(platform),
    digest: plan.digest,
    manifestDigest: plan.manifestDigest,
    config: plan.manifest.config,
    layers: plan.manifest.layers,
    pulledAt: new Date().toISOString(),
  };
  const pin = await store.pin(digestsOf(record), signal);
  try {
    for (const document of [...plan.documents, plan.config]) await store.blobs.put(document);
    for (const [position, layer] of plan.manifest.layers.entries()) {
      const content = plan.layers[position];
      const diffId = config.diffIds[position];
      if (content === undefined || diffId === undefined) throw new Error("a plan has as many layers as its manifest");
      await copyLayer(layer, content, options);
      await checkUnpacked(layer, diffId, options);
    }
    await store.records.write(record);
  } finally {
    await pin.release();
  }
  return record;
}

async function copyLayer(
  { digest, sizeBytes }: LayerDescriptor,
  content: Content,
  { store, signal, onProgress }: BringInOptions,
): Promise<void> {
  const report = (doneBytes: number): void => onProgress?.({ digest, doneBytes, totalBytes: sizeBytes });
  await store.blobs.ensure(
    { digest, sizeBytes },
    async (into) => {
      for await (const part of content.read(into.offset)) {
        signal?.throwIfAborted();
        await into.write(part);
        report(into.offset);
      }
    },
    { onProgress: report, ...(signal === undefined ? {} : { signal }) },
  );
}

async function checkUnpacked(
  { digest, compression }: LayerDescriptor,
  diffId: Digest,
  { store, limits, signal }: BringInOptions,
): Promise<void> {
  const content = await fileContent(store.blobs.path(digest));
  if (content === null) throw new Error("a layer that was brought in is there");
  checkLayerKind(compression, await store.blobs.firstBytes(digest, SIGNATURE_BYTES), digest);
  if (compression === "none" && digest === diffId) return;
  const hash = createHash("sha256");
  for await (const part of uncompressed(content.read(0), compression, limits)) {
    signal?.throwIfAborted();
    hash.update(part);
  }
  if (digestFromHex(hash.digest("hex")) === diffId) return;
  throw new AgentKernelError(
    "digest_mismatch",
    `layer ${shortDigest(digest)}… unpacks to something else than the image's configuration says`,
    { hint: "the image is damaged or was changed; nothing of it is used" },
  );
}
