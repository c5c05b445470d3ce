/** Versions of the record of a sandbox, and the way from each to the next. A change of its form adds a step here. */
import { builtInReviewGlobs } from "../../policy/review.js";

export const RECORD_VERSION = 2;

export type OldRecord = Readonly<Record<string, unknown>>;

/** By the version that a step starts from. */
export const migrations: ReadonlyMap<number, (old: OldRecord) => OldRecord> = new Map([[1, withReview]]);

/** Before, no change waited for a review. What has no such policy is refused by whoever reads the record. */
function withReview(old: OldRecord): OldRecord {
  const { policy } = old;
  if (!isTable(policy) || !isTable(policy.fs)) return old;
  return { ...old, policy: { ...policy, fs: { ...policy.fs, review: policy.fs.review ?? builtInReviewGlobs } } };
}

function isTable(value: unknown): value is OldRecord {
  return typeof value === "object" && value !== null;
}
