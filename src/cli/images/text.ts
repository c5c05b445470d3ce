/** Sizes, ages and tables, as people read them. */

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

export function sizeText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

const SPANS = [
  [365 * 24 * 3600, "year"],
  [30 * 24 * 3600, "month"],
  [7 * 24 * 3600, "week"],
  [24 * 3600, "day"],
  [3600, "hour"],
  [60, "minute"],
] as const;

export function ageText(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  for (const [span, name] of SPANS) {
    const count = Math.floor(seconds / span);
    if (count >= 1) return `${count} ${name}${count === 1 ? "" : "s"}`;
  }
  return "seconds";
}

/** Time that is left: what has just begun to run out counts as whole. */
export function leftText(ms: number): string {
  return ms < 60_000 ? "seconds" : ageText(Math.ceil(ms / 60_000) * 60_000);
}

/** Columns as wide as they must be; the last one is not filled up. */
export function tableText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]): string => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
}
