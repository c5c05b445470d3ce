/** Writes DER (ITU-T X.690): the few types of which a certificate is made. It reads nothing. */
import { Buffer } from "node:buffer";

export type Der = Buffer;

function tagged(tag: number, ...parts: readonly Buffer[]): Der {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = bigEndian(length);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function bigEndian(value: number): number[] {
  return value < 0x100 ? [value] : [...bigEndian(Math.floor(value / 0x100)), value % 0x100];
}

export const sequence = (...parts: readonly Der[]): Der => tagged(0x30, ...parts);
export const set = (...parts: readonly Der[]): Der => tagged(0x31, ...parts);
export const octets = (content: Buffer): Der => tagged(0x04, content);
export const text = (content: string): Der => tagged(0x0c, Buffer.from(content, "utf8"));
export const yes: Der = tagged(0x01, Buffer.from([0xff]));
/** A field that is told by its number: made of others, or plain bytes in place of its usual type. */
export const explicit = (number: number, ...parts: readonly Der[]): Der => tagged(0xa0 | number, ...parts);
export const implicit = (number: number, content: Buffer): Der => tagged(0x80 | number, content);

/** Of magnitude bytes; a number is never negative here. */
export function integer(magnitude: Buffer): Der {
  const first = magnitude.findIndex((byte) => byte !== 0);
  const trimmed = first < 0 ? Buffer.from([0]) : magnitude.subarray(first);
  return tagged(0x02, (trimmed[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), trimmed]) : trimmed);
}

export function bits(content: Buffer, unused = 0): Der {
  return tagged(0x03, Buffer.from([unused]), content);
}

export function oid(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) bytes.unshift((left & 0x7f) | 0x80);
  return bytes;
}

/** UTCTime up to 2049 and GeneralizedTime after, as RFC 5280 (4.1.2.5) wants it. */
export function time(date: Date): Der {
  const digits = `${date.toISOString().replace(/[-T:]|\..*$/g, "")}Z`;
  return date.getUTCFullYear() < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2), "latin1"))
    : tagged(0x18, Buffer.from(digits, "latin1"));
}
