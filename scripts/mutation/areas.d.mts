export interface Area {
  readonly what: string;
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
}
export const LEAST_KILLED: number;
export const areas: Readonly<Record<string, Area>>;
