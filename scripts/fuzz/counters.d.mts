export const COUNTERS: string;
export interface Counted {
  readonly text: string;
  readonly counters: number;
  readonly words: readonly string[];
}
export function withCounters(text: string): Counted;
