/**
 * Takes secrets out of text before it is recorded or shown. Pure, and linear in the length of the text whatever the
 * text is: a sandbox chooses much of it. What it knows: exact values, names that speak of secrets, headers, logins in
 * addresses, key blocks and the forms of well-known tokens. What it cannot know is a secret without any such mark.
 */

import { programSecrets } from "./redact-programs.js";
import { replaceSpans, type Span } from "./redact-spans.js";
import { assignmentSpans, keyBlockSpans, loginSpans, schemeSpans, tokenSpans } from "./redact-text.js";
import { isSecretName } from "./secret-names.js";

export interface Redactor {
  /** Free text: every rule. */
  text(text: string): string;
  /** Names and addresses, where `token.example.com:443` is no secret: exact values and token forms only. */
  value(text: string): string;
  /** The words of a command. */
  argv(words: readonly string[]): readonly string[];
}

/** Shorter ones would match everywhere. */
const MIN_SECRET_CHARS = 4;

/** Nothing shorter has the form of a token, and nothing without these marks names, assigns or addresses anything. */
const MIN_TOKEN_CHARS = 10;
const MARKS = /[=:\s]/;

/** Most of what is said once, such as the name of a wall, is said again; it is small. */
const MOST_REMEMBERED = 256;
const MOST_REMEMBERED_CHARS = 128;

export function redactor(secrets: readonly string[] = []): Redactor {
  const exact = [...new Set(secrets.flatMap(spellings))].filter((one) => one.length >= MIN_SECRET_CHARS);
  const clean = (text: string): string => replaceSpans(text, [...exactSpans(text, exact), ...valueSpans(text)]);
  const known = new Map<string, string>();
  const value = (text: string): string => {
    if (text.length > MOST_REMEMBERED_CHARS) return clean(text);
    const before = known.get(text);
    if (before !== undefined) return before;
    const cleaned = clean(text);
    if (known.size >= MOST_REMEMBERED) known.clear();
    known.set(text, cleaned);
    return cleaned;
  };
  const text = (whole: string): string =>
    MARKS.test(whole)
      ? replaceSpans(whole, [
          ...exactSpans(whole, exact),
          ...valueSpans(whole),
          ...loginSpans(whole),
          ...schemeSpans(whole),
          ...assignmentSpans(whole),
        ])
      : value(whole);
  return { text, value, argv: (words) => redactWords(words, text) };
}

function valueSpans(text: string): readonly Span[] {
  return text.length < MIN_TOKEN_CHARS ? [] : [...tokenSpans(text), ...keyBlockSpans(text)];
}

/** The ways in which one value is written where text is encoded. */
function spellings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const base64 = bytes.toString("base64");
  return [
    secret,
    secret.trim(),
    encodeURIComponent(bytes.toString()),
    JSON.stringify(secret).slice(1, -1),
    base64,
    base64.replace(/=+$/, ""),
    bytes.toString("base64url"),
    bytes.toString("hex"),
  ];
}

function exactSpans(text: string, values: readonly string[]): readonly Span[] {
  const spans: Span[] = [];
  for (const value of values) {
    // Matches may overlap, and every part of each must go; spans that touch are joined later.
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
      const last = spans.at(-1);
      if (last !== undefined && last[1] >= at && last[0] <= at) last[1] = Math.max(last[1], at + value.length);
      else spans.push([at, at + value.length]);
    }
  }
  return spans;
}

const HIDDEN = "[redacted]";

/** Words have borders that text has not: a value is the whole of what follows the `=`, or the whole next word. */
function redactWords(words: readonly string[], text: (text: string) => string): readonly string[] {
  const known = programSecrets(words);
  let isValueNext = false;
  return words.map((word, index) => {
    const isValue = isValueNext && !word.startsWith("--");
    isValueNext = false;
    const from = known.get(index);
    if (isValue) return HIDDEN;
    if (from !== undefined) return text(word.slice(0, from)) + HIDDEN;
    if (isScript(words, index)) return text(word);
    const assigned = /^(-{0,2}[A-Za-z_][A-Za-z0-9_.-]{0,63})=/.exec(word);
    if (assigned?.[1] !== undefined && isSecretName(assigned[1])) return `${assigned[1]}=${HIDDEN}`;
    isValueNext = /^--?[A-Za-z][A-Za-z0-9_.-]{1,63}$/.test(word) && isSecretName(word);
    return text(word);
  });
}

/** The argument of a shell's `-c` is text with words of its own. */
function isScript(words: readonly string[], index: number): boolean {
  return /^-[a-z]*c$/.test(words[index - 1] ?? "") && words.slice(0, index).some((word) => SHELL.test(word));
}

const SHELL = /(?:^|\/)(?:sh|bash|dash|ash|ksh|zsh|fish)$/;
