import type { VitestReport } from "./test-totals.mjs";

export function filesToTryAgain(report: VitestReport | undefined, output: string): string[];
export function withSecondTry(first: VitestReport, second: VitestReport | undefined): VitestReport;
export function unsteadyOf(first: VitestReport | undefined, second: VitestReport | undefined): string[];
