/** No figure that the documentation states lies outside what the last report measured. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { markdown } from "../../bench/report/markdown.mjs";
import { plotsOf } from "../../bench/report/plots.mjs";
import { withTable } from "../../bench/report/readme.mjs";
import { type BenchRow, figureOf, type Report, rowOf, withFigures } from "../../bench/report/specification.mjs";

const REPORT = "docs/bench/report.json";
const page = readFileSync("SPECIFICATION.md", "utf8");
const rowsOf = (text: string) => text.split("\n").flatMap((line) => rowOf(line) ?? []);

/** What is wrong with a row beside a report, or null. */
function fault(row: BenchRow, report: Report): string | null {
  const figure = figureOf(row, report);
  if (figure === null) return null;
  const stated = Number(/-?[\d.]+/.exec(row.last)?.[0]);
  const [low, high] = figure.interval ?? [figure.value, figure.value];
  // As far as rounding to what is shown can move it.
  const slack = Math.max(0.005, Math.abs(high) * 0.01);
  if (!(stated >= low - slack && stated <= high + slack)) return `states ${stated}, measured ${low} to ${high}`;
  const holds = figure.value <= row.most;
  return row.state === (holds ? "met" : "not met") ? null : `is called ${row.state} at ${figure.value} of ${row.most}`;
}

const line = "| A run, against bwrap | 1 × | bench `warm-run` | met | 0.9 × (by hand) |";
const result = { ratio: 0.5, interval: [0.45, 0.55], subject: { p50Ms: 5 }, reference: { p50Ms: 10 } };
const report: Report = { figures: [{ name: "warm-run", isShort: false, result }] };

describe("a stated figure", () => {
  it("is taken from the report", () => {
    const written = withFigures(line, report);
    expect(written).toBe(
      "| A run, against bwrap | 1 × | bench `warm-run` | met | 0.50 × (0.45–0.55; 5.00 ms against 10.0 ms) |",
    );
    expect(rowsOf(written).map((row) => fault(row, report))).toEqual([null]);
  });

  it("outside the report's interval is a fault, and so is a state that does not hold", () => {
    expect(rowsOf(line).map((row) => fault(row, report))).toEqual(["states 0.9, measured 0.45 to 0.55"]);
    const slow = {
      figures: [{ name: "warm-run", isShort: false, result: { ...result, ratio: 1.2, interval: [0.9, 1.3] } }],
    };
    expect(rowsOf(line).map((row) => fault(row, slow))).toEqual(["is called met at 1.2 of 1"]);
  });

  it("stays where the report has nothing whole to say of it", () => {
    const short = { figures: [{ name: "warm-run", isShort: true, result }] };
    expect(withFigures(line, short)).toBe(line);
  });
});

describe("SPECIFICATION.md", () => {
  it("has rows that a report can fill", () => {
    expect(rowsOf(page).length).toBeGreaterThan(20);
    for (const row of rowsOf(page)) expect(row.most).toBeGreaterThan(0);
  });
});

describe.skipIf(!existsSync(REPORT))("the last report", () => {
  const last = () => JSON.parse(readFileSync(REPORT, "utf8")) as Report;

  it("measured what SPECIFICATION.md states", () => {
    expect(rowsOf(page).flatMap((row) => fault(row, last()) ?? [])).toEqual([]);
  });

  it("is what README.md and BENCHMARK.md show", () => {
    const readme = readFileSync("README.md", "utf8");
    expect(withTable(readme, last())).toBe(readme);
    const { figures } = last();
    expect(markdown(last(), plotsOf(figures))).toBe(readFileSync("BENCHMARK.md", "utf8"));
  });
});
