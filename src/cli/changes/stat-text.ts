/** How much changed, a line for each file, as `git diff --stat` has it. */
import type { ProjectChange } from "../../core/changes.js";
import { escapeText } from "../../core/escape.js";

const MAX_MARKS = 40;

export function statText(changes: readonly ProjectChange[]): string {
  if (changes.length === 0) return "";
  const names = changes.map(({ path, from }) =>
    from === null ? escapeText(path) : `${escapeText(from)} -> ${escapeText(path)}`,
  );
  const width = Math.max(...names.map((name) => name.length));
  const counts = changes.map(({ lines }) => (lines === null ? 0 : lines.added + lines.removed));
  const most = Math.max(1, ...counts);
  const digits = String(most).length;
  const rows = changes.map((change, at) => {
    const amount = change.lines === null ? unlined(change) : marks(change.lines, counts[at] ?? 0, most, digits);
    return ` ${(names[at] ?? "").padEnd(width)} | ${amount}\n`;
  });
  const sum = (of: "added" | "removed") => changes.reduce((total, { lines }) => total + (lines?.[of] ?? 0), 0);
  const files = `${changes.length} ${changes.length === 1 ? "file" : "files"} changed`;
  const counted = (amount: number, noun: string, sign: string) =>
    `${amount} ${noun}${amount === 1 ? "" : "s"}(${sign})`;
  const [added, removed] = [counted(sum("added"), "insertion", "+"), counted(sum("removed"), "deletion", "-")];
  return `${rows.join("")} ${files}, ${added}, ${removed}\n`;
}

function marks(
  lines: { readonly added: number; readonly removed: number },
  count: number,
  most: number,
  digits: number,
) {
  const scale = most > MAX_MARKS ? MAX_MARKS / most : 1;
  const drawn = (n: number) => (n === 0 ? 0 : Math.max(1, Math.round(n * scale)));
  return `${String(count).padStart(digits)} ${"+".repeat(drawn(lines.added))}${"-".repeat(drawn(lines.removed))}`.trimEnd();
}

function unlined({ binary, now, before, change, refused }: ProjectChange): string {
  if (refused !== null) return "refused";
  if (change === "renamed") return "renamed";
  if (binary === true) return `Bin ${before?.sizeBytes ?? 0} -> ${now?.sizeBytes ?? 0} bytes`;
  return (now ?? before)?.type === "dir" ? "folder" : "-";
}
