import type { TestTimes } from "./test-times.mjs";

export interface TestFile {
  readonly project: string;
  /** Within the checkout. */
  readonly file: string;
}

export interface Job extends TestFile {
  readonly weightMs: number;
  readonly group: string | null;
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly failed: number;
  readonly doneWeightMs: number;
  readonly leftWeightMs: number;
  readonly elapsedMs: number;
  readonly running: readonly string[];
}

export interface Group {
  readonly name: string;
  readonly files?: RegExp;
  readonly project?: string;
  readonly reason: string;
}

export const MACHINE: number;
export const groups: readonly Group[];
export function groupOf(file: TestFile): string | null;
export function worldsFor(machine: { cores: number; memoryGiB: number; asked: string | undefined }): number;
export function weightsOf(times: TestTimes | undefined, table: Readonly<Record<string, number>>): Map<string, number>;
export class Queue {
  constructor(files: readonly TestFile[], weights: ReadonlyMap<string, number>);
  readonly length: number;
  readonly weightMs: number;
  take(world: number): Job | undefined;
}
export function progressLine(progress: Progress): string;
export function commandFor(project: string, file: string, title: string | null): string;
