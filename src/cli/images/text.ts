/** Sizes, ages and tables, as people read them. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

export function sizeText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1023.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;
/** Two days and more are counted in days. */
const MOST_HOURS_S = 2 * DAY_S;

/** As options take it: `12s`, `3m`, `5h`, `9d`. */
export function ageText(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  if (seconds < MINUTE_S) return `${seconds}s`;
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)}m`;
  if (seconds < MOST_HOURS_S) return `${Math.floor(seconds / HOUR_S)}h`;
  return `${Math.floor(seconds / DAY_S)}d`;
}

/** Time that is left: what has just begun to run out counts as whole. */
export function leftText(ms: number): string {
  return ms < 60_000 ? ageText(Math.ceil(ms / 1000) * 1000) : ageText(Math.ceil(ms / 60_000) * 60_000);
}

/** Columns as wide as they must be; the last one is not filled up. */
export function tableText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]): string => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
}
