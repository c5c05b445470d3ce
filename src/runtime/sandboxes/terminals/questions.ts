/**
 * Sequences by which a program asks the terminal something. The answer comes as if it were typed, so a question must
 * reach one terminal once: not everybody who looks, and not again when it is shown later.
 */
import { Buffer } from "node:buffer";
import type { Sequence } from "./escape-scanner.js";

/** Reports of the window's place, size, title. */
const WINDOW_REPORTS = /^\[(?:1[13-689]|2[01])(?:;[\d;]*)?t$/;

export function isQuestion({ kind, body }: Sequence): boolean {
  if (kind === "escape") return body === "Z";
  if (kind === "string") {
    // Colours and the clipboard (OSC), settings and names of terminal features (DCS).
    return body.startsWith("]") ? /[;]\?(?:;|$)/.test(body) : /^P(?:\$q|\+q)/.test(body);
  }
  return (
    // Status and cursor, identity, version, parameters, modes, kinds of keys, checksums.
    /^\[[?>]?[\d;]*n$/.test(body) ||
    /^\[[=>]?[\d;]*c$/.test(body) ||
    /^\[>[\d;]*q$/.test(body) ||
    /^\[[\d;]*x$/.test(body) ||
    /^\[\??[\d;]*\$p$/.test(body) ||
    /^\[\?[\d;]*u$/.test(body) ||
    /^\[\?4m$/.test(body) ||
    WINDOW_REPORTS.test(body)
  );
}

/** A part of a piece of output. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The piece without these parts, which are in order. The piece itself where there are none. */
export function without(bytes: Buffer, spans: readonly Span[]): Buffer {
  if (spans.length === 0) return bytes;
  const kept: Buffer[] = [];
  let at = 0;
  for (const { start, end } of spans) {
    if (start > at) kept.push(bytes.subarray(at, start));
    at = end;
  }
  kept.push(bytes.subarray(at));
  return Buffer.concat(kept);
}
