/** What the documentation is checked with. */
export interface BenchRow {
  readonly promise: string;
  readonly name: string;
  readonly state: string;
  readonly last: string;
  readonly most: number;
  readonly unit: string;
}

export interface Report {
  readonly figures: readonly {
    readonly name: string;
    readonly isShort: boolean;
    readonly result: Readonly<Record<string, unknown>>;
  }[];
}

export interface RowFigure {
  readonly value: number;
  readonly interval?: readonly [number, number];
}

export function rowOf(line: string): BenchRow | null;
export function figureOf(row: BenchRow, report: Report): RowFigure | null;
export function withFigures(page: string, report: Report): string;
