/** Ranges of addresses, written as `address/bits`. */
import { type Address, ipv4, parseAddress } from "./address.js";

export interface Range {
  readonly family: 4 | 6;
  readonly prefix: bigint;
  readonly shift: bigint;
}

/** Null where the text is no range. A range within the IPv4-mapped addresses is the IPv4 range. */
export function parseRange(text: string): Range | null {
  const match = /^([0-9a-f:.]+)\/(\d{1,3})$/i.exec(text);
  const address = parseAddress(match?.[1] ?? "");
  if (address === null) return null;
  const mapped = address.family === 4 && text.includes(":");
  const width = address.family === 4 ? 32 : 128;
  const length = Number(match?.[2]) - (mapped ? 96 : 0);
  if (length < 0 || length > width) return null;
  const shift = BigInt(width - length);
  return { family: address.family, prefix: address.bits >> shift, shift };
}

export function contains(range: Range, address: Address): boolean {
  return range.family === address.family && address.bits >> range.shift === range.prefix;
}

const low32 = (bits: bigint): Address => ipv4(bits & 0xffff_ffffn);

/** The IPv4 addresses that a translator or tunnel would reach for this IPv6 address. */
export function embeddedIpv4(address: Address): readonly Address[] {
  if (address.family === 4) return [];
  const { bits } = address;
  const top96 = bits >> 32n;
  // IPv4-compatible, IPv4-translated, and both prefixes of NAT64.
  if (top96 === 0n || top96 === 0xffff_0000n || top96 === NAT64 || bits >> 80n === 0x64_ff9b_0001n)
    return [low32(bits)];
  // 6to4 carries it after the prefix; Teredo carries the server's plainly and the client's inverted.
  if (bits >> 112n === 0x2002n) return [low32(bits >> 80n)];
  if (bits >> 96n === 0x2001_0000n) return [low32(bits >> 64n), low32(bits ^ 0xffff_ffffn)];
  // ISATAP, in any prefix.
  if (((bits >> 32n) & 0xfdff_ffffn) === 0x5efen) return [low32(bits)];
  return [];
}

/** 64:ff9b::/96, less its last 32 bits. */
const NAT64 = 0x64_ff9b_0000_0000_0000_0000n;

export function isWellKnownNat64(address: Address): boolean {
  return address.family === 6 && address.bits >> 32n === NAT64;
}
