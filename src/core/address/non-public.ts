/** Which addresses are not of the public internet, and in which words. What is not known to be public is not. */
import type { Address } from "./address.js";
import { contains, embeddedIpv4, isWellKnownNat64, parseRange, type Range } from "./range.js";

/** The purpose of a range of addresses outside the public internet. */
export type SpecialUse = (typeof table)[number][1];

/** The first that contains an address names it. */
const table = [
  ["169.254.169.254/32", "cloud metadata"],
  ["100.100.100.200/32", "cloud metadata"],
  ["168.63.129.16/32", "cloud metadata"],
  ["fd00:ec2::254/128", "cloud metadata"],
  ["0.0.0.0/8", "unspecified"],
  ["10.0.0.0/8", "private network"],
  ["100.64.0.0/10", "carrier-grade NAT"],
  ["127.0.0.0/8", "loopback"],
  ["169.254.0.0/16", "link-local"],
  ["172.16.0.0/12", "private network"],
  ["192.0.0.0/24", "protocol assignments"],
  ["192.0.2.0/24", "documentation"],
  ["192.88.99.0/24", "6to4 relays"],
  ["192.168.0.0/16", "private network"],
  ["198.18.0.0/15", "benchmarking"],
  ["198.51.100.0/24", "documentation"],
  ["203.0.113.0/24", "documentation"],
  ["224.0.0.0/4", "multicast"],
  ["255.255.255.255/32", "broadcast"],
  ["240.0.0.0/4", "reserved"],
  ["::/128", "unspecified"],
  ["::1/128", "loopback"],
  ["fe80::/10", "link-local"],
  ["fec0::/10", "site-local"],
  ["fc00::/7", "unique local"],
  ["ff00::/8", "multicast"],
  ["2001::/32", "Teredo"],
  ["2001::/23", "protocol assignments"],
  ["2001:db8::/32", "documentation"],
  ["2002::/16", "6to4"],
  ["3fff::/20", "documentation"],
] as const;

const ranges: readonly (readonly [Range, SpecialUse])[] = table.flatMap(([text, words]) => {
  const range = parseRange(text);
  return range === null ? [] : [[range, words] as const];
});

const globalUnicast = parseRange("2000::/3");

/** By the address itself, whatever a translator would make of it. */
export function specialUse(address: Address): SpecialUse | null {
  return ranges.find(([range]) => contains(range, address))?.[1] ?? null;
}

/** Names the purpose of the address, or null where it is public. */
export function whyNotPublic(address: Address): string | null {
  const use = specialUse(address);
  if (use !== null) return use;
  if (address.family === 4) return null;
  for (const inner of embeddedIpv4(address)) {
    const why = whyNotPublic(inner);
    if (why !== null) return `${why} (${inner.text} inside an IPv6 address)`;
  }
  if (isWellKnownNat64(address)) return null;
  return globalUnicast !== null && contains(globalUnicast, address) ? null : "not a global unicast address";
}
