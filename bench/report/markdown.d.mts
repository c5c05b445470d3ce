/** What BENCHMARK.md is checked with. */
import type { Report } from "./specification.mjs";

export interface Plot {
  readonly title: string;
  readonly file: string;
  readonly svg: string;
}

export function markdown(report: Report, plots: readonly Plot[]): string;
