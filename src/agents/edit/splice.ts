/** One change of a text as a value: what stood where, and what stands there now. It can be undone. */
export interface Splice {
  readonly offset: number;
  readonly removed: string;
  readonly inserted: string;
}

/** Null where nothing changed. */
export function spliceBetween(before: string, after: string): Splice | null {
  if (before === after) return null;
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  let tail = 0;
  while (tail < most - start && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return {
    offset: start,
    removed: before.slice(start, before.length - tail),
    inserted: after.slice(start, after.length - tail),
  };
}

/** The text as it was before the splice, wherever the user's own changes have moved it to; null where it is not to be found. */
export function undo(text: string, { offset, removed, inserted }: Splice): string | null {
  const at = text.startsWith(inserted, offset) ? offset : onlyPlace(text, inserted);
  return at === null ? null : text.slice(0, at) + removed + text.slice(at + inserted.length);
}

function onlyPlace(text: string, part: string): number | null {
  if (part === "") return null;
  const first = text.indexOf(part);
  return first < 0 || text.indexOf(part, first + 1) >= 0 ? null : first;
}
