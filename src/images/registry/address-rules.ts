/** Which network addresses a registry may lead us to. A redirect or a token service is a registry's choice, not ours. */
import { BlockList, isIPv4, isIPv6 } from "node:net";

/**
 * `any`: the host that the user named. `outside`: public. `here-or-outside`: loopback too. `here`: loopback only.
 * `private-or-outside`: private networks too, and still no loopback, no link-local address and no metadata service.
 */
export type AddressRule = "any" | "outside" | "here-or-outside" | "private-or-outside" | "here";

const special4 = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // A cloud's metadata service that sits on a public address.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const) {
  special4.addSubnet(network, prefix, "ipv4");
}

const private4 = new BlockList();
private4.addSubnet("10.0.0.0", 8, "ipv4");
private4.addSubnet("172.16.0.0", 12, "ipv4");
private4.addSubnet("192.168.0.0", 16, "ipv4");

export function isLoopbackAddress(address: string): boolean {
  if (isIPv4(address)) return address.startsWith("127.");
  const groups = ipv6Groups(address);
  if (groups === null) return false;
  const embedded = embeddedIPv4(groups);
  if (embedded !== null) return embedded.startsWith("127.");
  return groups.slice(0, 7).every((group) => group === 0) && groups[7] === 1;
}

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special4.check(address, "ipv4");
  const groups = ipv6Groups(address);
  if (groups === null) return false;
  const embedded = embeddedIPv4(groups);
  if (embedded !== null) return isPublicAddress(embedded);
  const [first = 0, second = 0] = groups;
  // Global unicast, less protocol assignments (Teredo among them), documentation and 6to4.
  if (first >> 13 !== 1 || first === 0x2002 || (first === 0x3fff && second >> 12 === 0)) return false;
  return !(first === 0x2001 && (second < 0x200 || second === 0xdb8));
}

/** Of a network that is somebody's own, where a registry of theirs may stand. */
export function isPrivateAddress(address: string): boolean {
  if (isIPv4(address)) return private4.check(address, "ipv4");
  const groups = ipv6Groups(address);
  if (groups === null) return false;
  const embedded = embeddedIPv4(groups);
  if (embedded !== null) return isPrivateAddress(embedded);
  // Unique local; but not the one address in it that clouds give their metadata service.
  return (groups[0] ?? 0) >> 9 === 0x7e && !(groups[0] === 0xfd00 && groups[1] === 0x0ec2);
}

export function isAllowedAddress(address: string, rule: AddressRule): boolean {
  if (rule === "any") return true;
  if (rule === "here") return isLoopbackAddress(address);
  if (rule === "private-or-outside" && isPrivateAddress(address)) return true;
  return isPublicAddress(address) || (rule === "here-or-outside" && isLoopbackAddress(address));
}

/** By the name alone: what a connection to it really reaches is checked when it is dialled. */
export function isLoopbackHost(hostname: string): boolean {
  const bare = hostname.replace(/^\[(.*)\]$/, "$1");
  return bare === "localhost" || bare.endsWith(".localhost") || isLoopbackAddress(bare);
}

function ipv6Groups(address: string): number[] | null {
  const bare = address.replace(/%.*$/, "");
  if (!isIPv6(bare)) return null;
  // The URL parser writes every form, also one with a dotted tail, as hexadecimal groups.
  const [head = "", tail] = new URL(`http://[${bare}]/`).hostname.slice(1, -1).split("::");
  const groupsOf = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

/** IPv4-mapped, IPv4-compatible and NAT64 addresses reach the IPv4 address in their last 32 bits. */
function embeddedIPv4(groups: readonly number[]): string | null {
  const prefix = groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(":");
  const high = groups[6] ?? 0;
  const low = groups[7] ?? 0;
  const compatible = prefix === "0:0:0:0:0:0" && (high > 0 || low > 1);
  if (prefix !== "0:0:0:0:0:ffff" && prefix !== "64:ff9b:0:0:0:0" && !compatible) return null;
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
