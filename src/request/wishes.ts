/** What a caller asks for, by the long names of `run`'s options. Choices have been held to their lists already. */
export interface Wishes {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** The command's words, untouched. */
  readonly rest: readonly string[];
}
