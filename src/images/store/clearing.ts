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
  /** What the store's blobs take now. */
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
    const sizes = new Map((await blobs.all()).map(({ digest, sizeBytes }) => [digest, sizeBytes]));
    const plan = planClearing(
      images.map(({ record }) => record),
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
    for (const digest of plan.blobs) await blobs.remove(digest);
    await unpacked.forgetUnrecorded((reference, platform) => records.read(reference, platform));
    await unpacked.removeUnneeded(() => pinnedDigests(layout));
    const freedParts = dropPartial ? await removeLeftParts(layout) : 0;
    const freedBlobs = plan.blobs.reduce((sum, digest) => sum + (sizes.get(digest) ?? 0), 0);
    const totalBytes = [...sizes.values()].reduce((sum, size) => sum + size, 0) - freedBlobs;
    return {
      removedImages: plan.images,
      removedBlobs: plan.blobs.length,
      freedBytes: freedBlobs + freedParts,
      totalBytes,
    };
  } finally {
    await lock.release();
  }
}

export interface ClearingPlan {
  readonly images: readonly ImageRecord[];
  readonly blobs: readonly Digest[];
}

/** Pure. `images` are in the order in which they may go; the first `mustGo` of them go whatever room there is. */
export function planClearing(
  images: readonly ImageRecord[],
  sizes: ReadonlyMap<Digest, number>,
  kept: ReadonlySet<Digest>,
  ceilingBytes: number,
  mustGo = 0,
): ClearingPlan {
  const users = new Map<Digest, number>();
  const isUsed = (record: ImageRecord): boolean => digestsOf(record).some((digest) => inUseBy(record, digest, kept));
  for (const digest of kept) users.set(digest, 1);
  for (const record of images) for (const digest of digestsOf(record)) users.set(digest, (users.get(digest) ?? 0) + 1);
  let neededBytes = 0;
  for (const [digest, size] of sizes) if (users.has(digest)) neededBytes += size;

  const leaving: ImageRecord[] = [];
  for (const [position, record] of images.entries()) {
    if (neededBytes <= ceilingBytes && position >= mustGo) break;
    if (isUsed(record)) continue;
    leaving.push(record);
    for (const digest of digestsOf(record)) {
      const left = (users.get(digest) ?? 1) - 1;
      users.set(digest, left);
      if (left === 0) neededBytes -= sizes.get(digest) ?? 0;
    }
  }
  return { images: leaving, blobs: [...sizes.keys()].filter((digest) => (users.get(digest) ?? 0) === 0) };
}

/** An image is used when its manifest is; that one of its layers is also used by another image does not count. */
function inUseBy(record: ImageRecord, digest: Digest, kept: ReadonlySet<Digest>): boolean {
  return kept.has(digest) && (digest === record.manifestDigest || digest === record.digest);
}
