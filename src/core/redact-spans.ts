/** Parts of a text that must go, as half-open ranges. */
export type Span = [from: number, to: number];

const HIDDEN = "[redacted]";

/** The text without these parts, however they overlap; each run of them leaves one mark. */
export function replaceSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  const sorted = [...spans].sort((one, other) => one[0] - other[0]);
  const kept: string[] = [];
  let at = 0;
  let isMarked = false;
  for (const [from, to] of sorted) {
    if (to <= at && isMarked) continue;
    if (from > at || !isMarked) kept.push(text.slice(at, from), HIDDEN);
    isMarked = true;
    at = Math.max(at, to);
  }
  kept.push(text.slice(at));
  return kept.join("");
}
