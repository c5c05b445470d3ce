/**
 * One line of the log: JSON whose last two fields are the hash of the line before and the hash of this one, over
 * everything of it that comes before its own hash. So a line that was changed shows by itself, and one that was
 * changed together with its hash shows at the next.
 */
import { hash as digestOf } from "node:crypto";
import { escapeJson } from "../core/escape.js";

/** What the first line of a log names as the line before it. */
export const NO_HASH = "0".repeat(64);

/** Far above what is ever written; a reader holds no more of a line than this. */
export const MAX_LINE_BYTES = 256 * 1024;

interface LineEnvelope {
  readonly seq: number;
  /** ISO 8601, UTC. */
  readonly time: string;
  /** Which process wrote it; unique on this host. */
  readonly writer: string;
  readonly type: string;
}

interface EncodedLine {
  /** With its newline. */
  readonly text: string;
  readonly hash: string;
}

export interface DecodedLine extends LineEnvelope {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly prev: string;
  readonly hash: string;
}

export function sha256(data: string | Uint8Array): string {
  return digestOf("sha256", data, "hex");
}

export function encodeLine(envelope: LineEnvelope, fields: object, prev: string): EncodedLine {
  const { seq, time, writer, type } = envelope;
  const body = escapeJson(JSON.stringify({ seq, time, writer, type, ...fields, prev })).slice(0, -1);
  const hash = sha256(body);
  return { text: `${body},"hash":"${hash}"}\n`, hash };
}

const OWN_HASH = /,"hash":"([0-9a-f]{64})"\}$/;

/** Null: this is no line of ours, or not as it was written. `claimed` is the hash that it gives itself. */
export function decodeLine(text: string): { readonly line: DecodedLine | null; readonly claimed: string | null } {
  const claimed = OWN_HASH.exec(text.slice(-80))?.[1] ?? null;
  if (claimed === null) return { line: null, claimed };
  const body = text.slice(0, text.length - claimed.length - ',"hash":""}'.length);
  return { line: sha256(body) === claimed ? parse(text) : null, claimed };
}

function parse(text: string): DecodedLine | null {
  const value = parseObject(text);
  if (value === null) return null;
  const { seq, time, writer, type, prev, hash, ...fields } = value;
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 1) return null;
  if (typeof time !== "string" || typeof writer !== "string" || typeof type !== "string") return null;
  if (typeof prev !== "string" || typeof hash !== "string") return null;
  return { seq, time, writer, type, fields, prev, hash };
}

/** An object of JSON, or null: whoever reads a log must not fall over what somebody put into it. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
