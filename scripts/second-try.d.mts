import type { VitestReport } from "./test-totals.mjs";

type Tries = readonly (VitestReport | undefined)[];

export function triesAfter(report: VitestReport | undefined, output: string): string[][];
export function withTries(first: VitestReport, tries: Tries): VitestReport;
export function unsteadyOf(first: VitestReport | undefined, tries: Tries, output: string): string[];
