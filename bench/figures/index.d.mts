/** What SPECIFICATION.md is checked against. */
export interface Figure {
  readonly name: string;
  readonly promise: string;
  /** The most that is allowed, in the one unit that the figure is in; null where nothing is promised. */
  readonly limit: Readonly<Partial<Record<"ratio" | "mib" | "p50Ms", number>>> | null;
}

export const figures: readonly Figure[];
