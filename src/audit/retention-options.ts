/** How long a log grows and how long it is kept. */
export interface RetentionOptions {
  /** A file that has this much is followed by another. */
  readonly maxFileBytes: number;
  readonly maxFileAgeMs: number;
  /** Older files go when all of them have more than this together, */
  readonly keepBytes: number;
  /** or were last written longer ago than this. */
  readonly keepMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const MIB = 1024 * 1024;

export const defaultRetention: RetentionOptions = {
  maxFileBytes: 16 * MIB,
  maxFileAgeMs: 7 * DAY_MS,
  keepBytes: 256 * MIB,
  keepMs: 365 * DAY_MS,
};
