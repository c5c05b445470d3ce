import type { VitestReport } from "./test-totals.mjs";

export interface FileTime {
  readonly file: string;
  /** Where its step is of several projects. */
  readonly project?: string;
  readonly elapsedMs: number;
  /** Where it was counted: of its world, while it ran there. */
  readonly processorMs?: number | null;
  readonly setupMs: number;
  readonly tests: readonly { readonly name: string; readonly ms: number }[];
}

export interface StepTime {
  readonly name: string;
  readonly elapsedMs: number;
  readonly processorMs: number | null;
  readonly files?: readonly FileTime[];
}

export interface TestTimes {
  readonly elapsedMs: number;
  readonly steps: readonly StepTime[];
}

export function filesOf(report: VitestReport | undefined, root: string): FileTime[];
export function timesTable(times: TestTimes): string[];
export function processorClock(readStat?: () => string): () => number;
export function laneClock(lane: string, mount?: string, ownGroups?: string): () => number | null;
