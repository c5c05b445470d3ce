/**
 * One canonical form for addresses. Whatever way an address is written, it becomes one value with one text; an
 * IPv4-mapped IPv6 address is the IPv4 address, since that is what a connection to it reaches.
 */
import { isIPv4, isIPv6 } from "node:net";

export interface Address {
  readonly family: 4 | 6;
  readonly bits: bigint;
  readonly text: string;
}

/** Dotted IPv4 or IPv6 as resolvers and interfaces give them; no odd form and no zone. */
export function parseAddress(text: string): Address | null {
  if (isIPv4(text)) return ipv4(dottedBits(text));
  if (!isIPv6(text) || text.includes("%")) return null;
  const bits = ipv6Bits(text);
  return bits >> 32n === 0xffffn ? ipv4(bits & 0xffff_ffffn) : { family: 6, bits, text: ipv6Text(bits) };
}

/** Resolvers read such a name as IPv4, or fail; they never ask a name server for it. */
export function endsInNumber(name: string): boolean {
  const last = name.split(".").at(-1) ?? "";
  return /^(\d+|0x[0-9a-f]*)$/i.test(last);
}

/** IPv4 as `inet_aton` reads it: one to four parts, each decimal, octal or hexadecimal. */
export function parseOddIpv4(text: string): Address | null {
  const parts = text.split(".").map(partValue);
  const last = parts.pop();
  if (parts.length > 3 || last === undefined || last === null) return null;
  let bits = 0n;
  for (const part of parts) {
    if (part === null || part > 255n) return null;
    bits = (bits << 8n) | part;
  }
  const restBits = BigInt(8 * (4 - parts.length));
  return last >> restBits === 0n ? ipv4((bits << restBits) | last) : null;
}

function partValue(part: string): bigint | null {
  if (part.length > 64) return null;
  if (/^0x[0-9a-f]*$/i.test(part)) return BigInt(part.length === 2 ? "0" : part);
  if (/^0[0-7]*$/.test(part)) return BigInt(part.length === 1 ? "0" : `0o${part.slice(1)}`);
  return /^[1-9]\d*$/.test(part) ? BigInt(part) : null;
}

export function ipv4(bits: bigint): Address {
  const value = Number(bits);
  const text = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255].join(".");
  return { family: 4, bits, text };
}

function dottedBits(text: string): bigint {
  return text.split(".").reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
}

function ipv6Bits(text: string): bigint {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const tail = dotted?.[2] === undefined ? null : dottedBits(dotted[2]);
  const hex = tail === null ? text : `${dotted?.[1]}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const [before = "", after] = hex.split("::");
  const groupsOf = (half: string) => (half === "" ? [] : half.split(":"));
  const head = groupsOf(before);
  const rest = groupsOf(after ?? "");
  const zeros = after === undefined ? 0 : 8 - head.length - rest.length;
  const groups = [...head, ...Array.from({ length: zeros }, () => "0"), ...rest];
  return groups.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}

function ipv6Text(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((bits >> BigInt(16 * (7 - i))) & 0xffffn).toString(16));
  return new URL(`http://[${groups.join(":")}]/`).hostname.slice(1, -1);
}
