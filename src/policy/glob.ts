/**
 * The one glob grammar of policies: segments parted by `/`, `*` and `?` inside a segment, `**` as a whole segment
 * for any number of them. Anything that another grammar would read differently is refused, because a deny glob
 * that quietly matches nothing is a leak.
 */
import { folded, spellings } from "./spelling.js";

const MAX_LENGTH = 1024;
const MAX_SEGMENTS = 64;

/** Why `glob` is not one, or null where it is. */
export function whyInvalidGlob(glob: string): string | null {
  if (glob === "") return "it is empty";
  if (glob.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(glob)) return "it has a control character";
  if (glob.startsWith("/")) return "it starts with /; globs are relative to each shown folder";
  if (glob.startsWith("!")) return "it starts with !; a policy cannot make an exception to what is hidden";
  const special = /[[\]{}\\]/.exec(glob);
  if (special) return `it has ${special[0]}; only *, ? and ** are special, write one glob for each alternative`;
  const segments = glob.split("/");
  if (segments.length > MAX_SEGMENTS) return `it has more than ${MAX_SEGMENTS} segments`;
  for (const segment of segments) {
    if (segment === "") return "it has an empty segment (// or a / at its end)";
    if (segment === "." || segment === "..") return `it has the segment ${segment}`;
    if (segment !== "**" && segment.includes("**"))
      return "it has ** inside a segment; ** stands alone between slashes";
  }
  if (segments.every((segment) => segment === "**")) return "it matches everything";
  return null;
}

/** Whether `name` (one path segment), in any spelling, fits `pattern` (one glob segment). */
export function segmentMatches(pattern: string, name: string): boolean {
  const wanted = folded(pattern);
  return spellings(name).some((spelling) => isFitting(wanted, spelling));
}

/** Linear in practice, never exponential. */
function isFitting(pattern: string, name: string): boolean {
  let p = 0;
  let n = 0;
  let star = -1;
  let resume = 0;
  while (n < name.length) {
    if (p < pattern.length && pattern[p] === "*") {
      star = p++;
      resume = n;
    } else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === name[n])) {
      p++;
      n++;
    } else if (star >= 0) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

/** How many leading glob segments can be used up by exactly this path; the states of a small automaton. */
function statesAfter(globSegments: readonly string[], path: readonly string[]): Set<number> {
  let states = closure(globSegments, [0]);
  for (const name of path) {
    const next: number[] = [];
    for (const state of states) {
      const segment = globSegments[state];
      if (segment === undefined) continue;
      if (segment === "**") next.push(state);
      else if (segmentMatches(segment, name)) next.push(state + 1);
    }
    states = closure(globSegments, next);
  }
  return states;
}

function closure(globSegments: readonly string[], states: readonly number[]): Set<number> {
  const all = new Set<number>();
  for (let state of states) {
    all.add(state);
    while (globSegments[state] === "**") all.add(++state);
  }
  return all;
}

/** Whether the glob matches this path itself (not what is above or below it). */
export function globMatches(glob: string, path: readonly string[]): boolean {
  const segments = glob.split("/");
  return statesAfter(segments, path).has(segments.length);
}

/** Whether the glob matches this path or a folder it lies in. */
export function globCovers(glob: string, path: readonly string[]): boolean {
  return path.some((_, index) => globMatches(glob, path.slice(0, index + 1)));
}

/**
 * A quick no for a glob of any depth: without a name that fits its first one, it neither covers the path nor has a
 * remainder below it.
 */
export function globMayConcern(glob: string, path: readonly string[]): boolean {
  const first = firstName(glob);
  if (first === null) return true;
  return /[*?]/.test(first)
    ? path.some((name) => segmentMatches(first, name))
    : path.some((name) => spellings(name).includes(first));
}

const firstNames = new Map<string, string | null>();
/** A process that serves many sees the same globs again and again. */
const MOST_REMEMBERED = 4096;

/** Folded; null where there is none. */
function firstName(glob: string): string | null {
  const known = firstNames.get(glob);
  if (known !== undefined) return known;
  const segment = glob.split("/").find((name) => name !== "**");
  const first = segment === undefined ? null : folded(segment);
  if (firstNames.size >= MOST_REMEMBERED) firstNames.clear();
  firstNames.set(glob, first);
  return first;
}

/**
 * What of the glob is left below `folder` when the folder's own names have used up some of it: of a glob for
 * `.config/gh` at any depth, `gh` is left below `/home/u/.config`. A match that starts at the folder misses those.
 */
export function globRemainders(glob: string, folder: readonly string[]): string[] {
  const segments = glob.split("/");
  const remainders: string[] = [];
  for (const state of statesAfter(segments, folder)) {
    const rest = segments.slice(state);
    const isLeadingStars = segments.slice(0, state).every((segment) => segment === "**");
    if (state > 0 && rest.length > 0 && !isLeadingStars) remainders.push(rest.join("/"));
  }
  return remainders;
}
