export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly startTime?: number;
    readonly endTime?: number;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly duration?: number;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

export const noTotals: Totals;
export function cargoTotals(output: string, ok: boolean): Totals;
export function vitestTotals(report: VitestReport | undefined, ok: boolean): Totals;
export function failuresOf(report: VitestReport | undefined): string[];
export function failedTests(report: VitestReport | undefined): {
  file: string;
  title: string | null;
  key: string;
  reason: string;
}[];
