/** Versions of the record of a sandbox, and the way from each to the next. A change of its form adds a step here. */
export const RECORD_VERSION = 1;

export type OldRecord = Readonly<Record<string, unknown>>;

/** By the version that a step starts from. */
export const migrations: ReadonlyMap<number, (old: OldRecord) => OldRecord> = new Map();
