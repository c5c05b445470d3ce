/** Results as a table for a terminal, and how a number is shown wherever it is. */

/** The number that the limit is about, and whether it holds; null where nothing is promised. */
export function isMet({ limit, result }) {
  if (limit === null) return null;
  return Object.entries(limit).every(([field, most]) => measuredBy(result, field) <= most);
}

export function measuredBy(result, field) {
  return field === "p50Ms" ? result.subject.p50Ms : result[field];
}

/** What a figure is in, also where nothing is promised. */
export function fieldOf({ limit, result }) {
  if (limit !== null) return Object.keys(limit)[0];
  return result.ratio === undefined && result.mib !== undefined ? "mib" : "ratio";
}

export const units = { ratio: "×", mib: "MiB", p50Ms: "ms" };

export function table(measured) {
  const rows = [["figure", "measured", "limit", "", "p50 / p95 ms", "reference p50 / p95 ms", "ratio p95 / min / cpu"]];
  for (const { name, limit, result } of measured) {
    const field = fieldOf({ limit, result });
    const met = isMet({ limit, result });
    rows.push([
      name,
      result[field] === undefined && field === "ratio" ? "-" : `${round(measuredBy(result, field))} ${units[field]}`,
      limit === null ? "-" : `${limit[field]} ${units[field]}`,
      met === null ? "" : met ? "met" : "NOT MET",
      result.subject ? `${round(result.subject.p50Ms)} / ${round(result.subject.p95Ms)}` : "-",
      result.reference ? `${round(result.reference.p50Ms)} / ${round(result.reference.p95Ms)}` : "-",
      result.ratios ? `${[result.ratios.p95, result.ratios.min, result.ratios.cpu].map(round).join(" / ")}` : "-",
    ]);
  }
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join("  ")
      .trimEnd(),
  );
  const extras = measured.flatMap(({ name, result }) =>
    Object.entries(result.information ?? {}).map(([what, value]) => `${name}: ${what} ${round(value)}`),
  );
  return [...lines, "", ...extras, ""].join("\n");
}

export function round(value) {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.map(round).join(" ");
  if (typeof value === "object")
    return Object.entries(value)
      .map((entry) => round(entry))
      .join(", ");
  if (typeof value !== "number") return String(value);
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 || value <= 0 ? 2 : 3;
  return value.toFixed(digits);
}
