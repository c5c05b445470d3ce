/**
 * Where secrets are in free text. Each finder goes through the text once: patterns begin with a fixed text and end in
 * a single run, so that none can be made to look at the same characters over and over.
 */
import type { Span } from "./redact-spans.js";
import { isSecretName, MAX_NAME_CHARS } from "./secret-names.js";

/** Forms that services give their tokens, so that they can be recognised anywhere. */
const TOKEN =
  /(?<![A-Za-z0-9])(?:(?:gh[pousr]_|github_pat_|glpat-|gldt-|xox[abeprs]-|xapp-|sk-|sk_live_|sk_test_|rk_live_|pk_live_|whsec_|hf_|npm_|pypi-|shpat_|dop_v1_|SG\.|ya29\.|AGE-SECRET-KEY-|hvs\.|dckr_pat_|lin_api_|AIza)[A-Za-z0-9_.-]{16,}|ak_[0-9a-f]{12}_[A-Za-z0-9_-]{43}|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[A-Za-z0-9_-]{8,}[A-Za-z0-9_.-]*)/g;

export function tokenSpans(text: string): readonly Span[] {
  // Mostly there is none, and to ask costs a tenth of what collecting does.
  if (text.search(TOKEN) < 0) return [];
  return Array.from(text.matchAll(TOKEN), (match): Span => [match.index, match.index + match[0].length]);
}

const BLOCK_START = "-----BEGIN ";
const BLOCK_END = "-----END ";

/** Key blocks, with whatever is between their first and last line; without a last line, everything after the first. */
export function keyBlockSpans(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (let from = text.indexOf(BLOCK_START); from >= 0; ) {
    const end = text.indexOf(BLOCK_END, from);
    const to = end < 0 ? text.length : Math.min(text.length, endOfBlockLine(text, end));
    if (/PRIVATE|SECRET|KEY/.test(text.slice(from, from + MAX_NAME_CHARS))) spans.push([from, to]);
    from = text.indexOf(BLOCK_START, to);
  }
  return spans;
}

function endOfBlockLine(text: string, end: number): number {
  const dashes = text.slice(end + BLOCK_END.length, end + BLOCK_END.length + MAX_NAME_CHARS).indexOf("-----");
  return dashes < 0 ? text.length : end + BLOCK_END.length + dashes + 5;
}

/** The login in `scheme://login@host`. */
export function loginSpans(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (let at = text.indexOf("://"); at >= 0; at = text.indexOf("://", at + 3)) {
    const from = at + 3;
    let login = -1;
    for (let to = from; to < text.length && !/[/?#\s"'`<>\\]/.test(text[to] ?? ""); to++) {
      if (text[to] === "@") login = to;
    }
    if (login > from) spans.push([from, login]);
  }
  return spans;
}

const BEARER = /\bbearer[ \t]+([^\s"'`,;]{6,})/gi;

/** Matches the token after `Bearer`, wherever that stands. */
export function schemeSpans(text: string): readonly Span[] {
  return Array.from(text.matchAll(BEARER), (match): Span => {
    const to = match.index + match[0].length;
    return [to - (match[1]?.length ?? 0), to];
  });
}

const NAME_CHARACTER = /[A-Za-z0-9_-]/;

/** Values behind names of secrets: `KEY=value`, `"password": "value"`, `Cookie: value`, `--token value` in a script. */
export function assignmentSpans(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const match of text.matchAll(/[=:]/g)) {
    const at = match.index;
    if (at < (spans.at(-1)?.[1] ?? 0)) continue;
    const name = nameBefore(text, at);
    if (name === "" || !isSecretName(name)) continue;
    spans.push(valueAfter(text, at + 1, match[0] === ":"));
  }
  let covered = 0;
  for (const match of text.matchAll(/(?:^|[\s"'])--?([A-Za-z][A-Za-z0-9_-]{1,63})[ \t]/g)) {
    const from = match.index + match[0].length;
    if (from < covered || text.startsWith("-", from) || !isSecretName(match[1] ?? "")) continue;
    const span = valueAfter(text, from, false);
    covered = span[1];
    spans.push(span);
  }
  return spans.filter(([from, to]) => to > from);
}

function nameBefore(text: string, separator: number): string {
  let to = separator;
  while (to > 0 && separator - to < 4 && /[ "'\\]/.test(text[to - 1] ?? "")) to--;
  let from = to;
  while (from > 0 && to - from <= MAX_NAME_CHARS && NAME_CHARACTER.test(text[from - 1] ?? "")) from--;
  // In an address the name is a host and what follows the colon a port, or the rest of the address.
  const isHost = text[separator] === ":" && /[/.@]/.test(text[from - 1] ?? "");
  return isHost ? "" : text.slice(from, to);
}

/** To the closing quote; else to the end of the line (a header) or of the word. */
function valueAfter(text: string, start: number, isHeader: boolean): Span {
  let from = start;
  while (from < text.length && from - start < 8 && (text[from] === " " || text[from] === "\\")) from++;
  const quote = text[from];
  if (quote === '"' || quote === "'" || quote === "`") {
    const close = closingQuote(text, from + 1, quote);
    return [from + 1, close < 0 ? text.length : close];
  }
  const ends = isHeader ? /[\r\n"'`]/g : /[\s"'`;&|<>()]/g;
  ends.lastIndex = from;
  return [from, ends.exec(text)?.index ?? text.length];
}

function closingQuote(text: string, from: number, quote: string): number {
  for (let at = text.indexOf(quote, from); at >= 0; at = text.indexOf(quote, at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}
