/** The figures that SPECIFICATION.md states: its rows, and what a report says of each. */
import { measuredBy, round, units } from "./table.mjs";

const ROW =
  /^\| (?<promise>[^|]+) \| (?<most>[^|]+) \| bench `(?<name>[^`]+)` \| (?<state>[^|]+) \| (?<last>[^|]*) \|$/;

/** A row of the table that a benchmark measures, or null for any other line. */
export function rowOf(line) {
  const found = ROW.exec(line)?.groups;
  if (found === undefined) return null;
  const [, most, unit] = /^([\d.]+) (\S+)$/.exec(found.most) ?? [];
  return { ...found, most: Number(most), unit };
}

/** The figure of a row's promise in a report; null where it was not taken whole. */
export function figureOf(row, { figures }) {
  const figure = figures.find(({ name, isShort }) => name === row.name && !isShort);
  if (figure === undefined) return null;
  const field = Object.keys(units).find((name) => units[name] === row.unit);
  const { result } = figure;
  return { value: measuredBy(result, field), interval: field === "ratio" ? result.interval : undefined, result };
}

/** The page with each row's state and last figure as the report has them; rows that it lacks stay as they are. */
export function withFigures(page, report) {
  return page
    .split("\n")
    .map((line) => {
      const row = rowOf(line);
      const figure = row === null ? null : figureOf(row, report);
      return figure === null ? line : rowText(row, figure);
    })
    .join("\n");
}

function rowText({ promise, most, unit, name }, { value, interval, result }) {
  const { subject, reference } = result;
  const parts = interval === undefined ? [] : [`${round(interval[0])}–${round(interval[1])}`];
  const isTimed = unit === "×" && subject !== undefined && reference !== undefined;
  if (isTimed) parts.push(`${round(subject.p50Ms)} ms against ${round(reference.p50Ms)} ms`);
  const said = `${round(value)} ${unit}${parts.length > 0 ? ` (${parts.join("; ")})` : ""}`;
  return `| ${promise} | ${most} ${unit} | bench \`${name}\` | ${value <= most ? "met" : "not met"} | ${said} |`;
}
