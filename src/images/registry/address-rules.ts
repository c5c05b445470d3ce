/** Which network addresses a registry may lead us to. A redirect or a token service is a registry's choice, not ours. */
import { type Address, parseAddress } from "../../core/address/address.js";
import { type SpecialUse, specialUse, whyNotPublic } from "../../core/address/non-public.js";

/**
 * `any`: the host that the user named. `outside`: public. `here-or-outside`: loopback too. `here`: loopback only.
 * `private-or-outside`: private networks too, and still no loopback, no link-local address and no metadata service.
 */
export type AddressRule = "any" | "outside" | "here-or-outside" | "private-or-outside" | "here";

function isLoopbackAddress(address: string): boolean {
  return specialUseOf(address) === "loopback";
}

export function isPublicAddress(text: string): boolean {
  const address = withoutZone(text);
  return address !== null && whyNotPublic(address) === null;
}

/** Of a network that is somebody's own, where a registry of theirs may stand. */
export function isPrivateAddress(address: string): boolean {
  const use = specialUseOf(address);
  return use === "private network" || use === "unique local";
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

function specialUseOf(text: string): SpecialUse | null {
  const address = withoutZone(text);
  return address === null ? null : specialUse(address);
}

function withoutZone(text: string): Address | null {
  return parseAddress(text.replace(/%.*$/, ""));
}
