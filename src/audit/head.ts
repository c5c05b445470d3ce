/**
 * The head says where the log ends: which file, how long, which line. It is what makes a cut at the end visible, and
 * it spares a writer reading the log. It is always of one size and written in one piece, in place.
 */
import { parseObject, sha256 } from "./line.js";

export interface Head {
  /** Number of the file that is written now; 0: there is none yet. */
  readonly file: number;
  readonly bytes: number;
  /** When that file was begun, in ms since 1970. */
  readonly begun: number;
  readonly seq: number;
  readonly hash: string;
  /** The boot in which it was last written. */
  readonly boot: string;
}

export const HEAD_BYTES = 256;

export function encodeHead(head: Head): Buffer {
  const { file, bytes, begun, seq, hash, boot } = head;
  const body = JSON.stringify({ file, bytes, begun, seq, hash, boot }).slice(0, -1);
  const text = `${`${body},"check":"${check(body)}"}`.padEnd(HEAD_BYTES - 1)}\n`;
  lastRead = { text, head };
  return Buffer.from(text, "latin1");
}

/** The last one that was read: a process that writes on its own finds again what it has written. */
let lastRead: { readonly text: string; readonly head: Head } | null = null;

/** Null for a head that is empty, half or changed. */
export function decodeHead(text: string): Head | null {
  if (lastRead?.text === text) return lastRead.head;
  const head = decode(text);
  if (head !== null) lastRead = { text, head };
  return head;
}

function decode(text: string): Head | null {
  const [, body, claimed] = /^(\{.*),"check":"([0-9a-f]{16})"\} *\n?$/.exec(text) ?? [];
  if (body === undefined || claimed !== check(body)) return null;
  const value = parseObject(`${body}}`);
  if (value === null) return null;
  const { file, bytes, begun, seq, hash, boot } = value;
  if (![file, bytes, begun, seq].every((one) => Number.isSafeInteger(one) && Number(one) >= 0)) return null;
  if (typeof hash !== "string" || typeof boot !== "string") return null;
  return { file: Number(file), bytes: Number(bytes), begun: Number(begun), seq: Number(seq), hash, boot };
}

function check(body: string): string {
  return sha256(body).slice(0, 16);
}
