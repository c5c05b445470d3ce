/** Versions of the record of a sandbox, and the way from each to the next. A change of its form adds a step here. */
import { builtInReviewGlobs } from "../../policy/review.js";
import { numbersIn, numericDefaults } from "../../settings/index.js";

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

/** A numeric setting that the writing build did not have holds at its default. */
export function withEveryNumber(record: OldRecord): OldRecord {
  const { policy } = record;
  if (!isTable(policy) || !isTable(policy.resources) || !isTable(policy.fs)) return record;
  const resources = { ...numbersIn("resources", numericDefaults), ...policy.resources };
  return { ...record, policy: { ...policy, resources, fs: { ...numbersIn("fs", numericDefaults), ...policy.fs } } };
}

function isTable(value: unknown): value is OldRecord {
  return typeof value === "object" && value !== null;
}
