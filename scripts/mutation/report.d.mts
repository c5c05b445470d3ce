export interface Survivor {
  readonly place: string;
  readonly change: string;
  readonly isReached: boolean;
}
export interface Verdict {
  readonly killed: number;
  readonly judged: number;
  readonly percent: number;
  readonly survivors: readonly Survivor[];
}
export function judge(report: unknown): Verdict;
