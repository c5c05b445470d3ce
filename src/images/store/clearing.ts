/** Frees room: blobs that no image needs, and images that were not used for longest where there is a ceiling. */
import { AgentKernelError } from "../../core/errors.js";
import type { Digest } from "../digest.js";
import type { UnpackedLayers } from "../unpack/index.js";
import type { Blobs } from "./blobs.js";
import type { StoreLayout } from "./layout.js";
import { waitForLock } from "./lock.js";
import { removeLeftParts } from "./partial-blob.js";
import { CLEARING_LOCK, pinnedDigests } from "./pins.js";
import { digestsOf, type ImageRecord, type Records } from "./records.js";

export interface Cleared {
  readonly removedImages: readonly ImageRecord[];
  readonly removedBlobs: number;
  readonly freedBytes: number;
  /** What the store's blobs and unpacked layers take now. */
  readonly totalBytes: number;
}

export interface ClearingOptions {
  /** Manifests or blobs that sandboxes use: they and what they need stay. */
  readonly inUse?: ReadonlySet<Digest>;
  /** Images are removed until the blobs fit; without it no image is. */
  readonly ceilingBytes?: number;
  /** Images that were last used before this go too, unless they are in use. */
  readonly unusedSinceMs?: number;
  /** Also drops downloads that broke off. */
  readonly dropPartial?: boolean;
}

const LOCK_WAIT_MS = 30_000;

export async function clear(
  layout: StoreLayout,
  blobs: Blobs,
  records: Records,
  unpacked: UnpackedLayers,
  {
    inUse = new Set(),
    ceilingBytes = Number.POSITIVE_INFINITY,
    unusedSinceMs = Number.NEGATIVE_INFINITY,
    dropPartial = false,
  }: ClearingOptions,
): Promise<Cleared> {
  const lock = await waitForLock(layout.lockName(CLEARING_LOCK), LOCK_WAIT_MS);
  if (lock === null) {
    throw new AgentKernelError("conflict", "another process is clearing the image store", { hint: "try again" });
  }
  try {
    const kept = new Set<Digest>([...inUse, ...(await pinnedDigests(layout))]);
    const images = (await records.all()).sort((a, b) => a.lastUsedMs - b.lastUsedMs);
    const blobSizes = new Map((await blobs.all()).map(({ digest, sizeBytes }) => [digest, sizeBytes]));
    const sizes = new Map([...blobSizes, ...(await unpacked.sizes())]);
    const plan = planClearing(
      images.map(({ record }) => ({ record, needs: [...digestsOf(record), ...unpacked.layersOf(record)] })),
      sizes,
      kept,
      ceilingBytes,
      images.filter(({ lastUsedMs }) => lastUsedMs < unusedSinceMs).length,
    );
    // Records first: one that names a blob that is gone must never be seen.
    for (const record of plan.images) {
      await records.remove(record);
      await unpacked.forget(record.reference, record.platform);
    }
    // Before the folders, which can take longer than a pull waits for us: what it finds from then on stays.
    const leaving = plan.unneeded.filter((digest) => blobSizes.has(digest));
    for (const digest of leaving) await blobs.remove(digest);
    await unpacked.forgetUnrecorded(async () => (await records.all()).map(({ record }) => record));
    await unpacked.removeUnneeded(() => pinnedDigests(layout));
    const freedParts = dropPartial ? await removeLeftParts(layout) : 0;
    const freed = plan.unneeded.reduce((sum, digest) => sum + (sizes.get(digest) ?? 0), 0);
    const totalBytes = [...sizes.values()].reduce((sum, size) => sum + size, 0) - freed;
    return { removedImages: plan.images, removedBlobs: leaving.length, freedBytes: freed + freedParts, totalBytes };
  } finally {
    await lock.release();
  }
}

interface ClearingPlan {
  readonly images: readonly ImageRecord[];
  /** Blobs, and unpacked layers by the digest of their chain. */
  readonly unneeded: readonly Digest[];
}

interface ClearableImage {
  readonly record: ImageRecord;
  readonly needs: readonly Digest[];
}

/** Pure. `images` are in the order in which they may go; the first `mustGo` of them go whatever room there is. */
export function planClearing(
  images: readonly ClearableImage[],
  sizes: ReadonlyMap<Digest, number>,
  kept: ReadonlySet<Digest>,
  ceilingBytes: number,
  mustGo = 0,
): ClearingPlan {
  const users = new Map<Digest, number>();
  for (const digest of kept) users.set(digest, 1);
  for (const { needs } of images) for (const digest of needs) users.set(digest, (users.get(digest) ?? 0) + 1);
  let neededBytes = 0;
  for (const [digest, size] of sizes) if (users.has(digest)) neededBytes += size;

  const leaving: ImageRecord[] = [];
  for (const [position, { record, needs }] of images.entries()) {
    if (neededBytes <= ceilingBytes && position >= mustGo) break;
    if (needs.some((digest) => inUseBy(record, digest, kept))) continue;
    leaving.push(record);
    for (const digest of needs) {
      const left = (users.get(digest) ?? 1) - 1;
      users.set(digest, left);
      if (left === 0) neededBytes -= sizes.get(digest) ?? 0;
    }
  }
  return { images: leaving, unneeded: [...sizes.keys()].filter((digest) => (users.get(digest) ?? 0) === 0) };
}

/** An image is used when its manifest is; that one of its layers is also used by another image does not count. */
function inUseBy(record: ImageRecord, digest: Digest, kept: ReadonlySet<Digest>): boolean {
  return kept.has(digest) && (digest === record.manifestDigest || digest === record.digest);
}
