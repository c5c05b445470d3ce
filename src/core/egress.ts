/**
 * What a sandbox may ask of the world outside, between the host side of the guest protocol (which asks on the guest's
 * behalf) and the gateway (which decides, resolves, dials and carries the bytes).
 */
import type { Duplex } from "node:stream";

/** As it was asked for inside the sandbox, before any rule and without any trust. */
export type OutgoingTarget =
  | { readonly kind: "name"; readonly name: string; readonly port: number }
  | { readonly kind: "address"; readonly address: string; readonly port: number }
  /** The stream itself says where to: an HTTP proxy request, CONNECT or SOCKS5. */
  | { readonly kind: "proxy" };

export type OutgoingFailure = "denied" | "not_found" | "refused" | "unreachable" | "timed_out" | "limit" | "failed";

export interface OutgoingRefusal {
  readonly code: OutgoingFailure;
  readonly message: string;
}

/** Which address families a name has, as far as this sandbox may know. */
export interface NameFamilies {
  readonly ipv4: boolean;
  readonly ipv6: boolean;
}

export interface EgressPort {
  /** A name that the policy does not allow is refused without any query leaving the host. */
  lookup(name: string): Promise<NameFamilies | OutgoingRefusal>;
  /**
   * Decides and dials; null once bytes may flow. From then on the port owns `stream`: it carries both directions,
   * half-closes rightly and destroys it at the end.
   */
  connect(target: OutgoingTarget, stream: Duplex): Promise<OutgoingRefusal | null>;
}

/** Destinations that an approval or an option could allow. */
export const UNCOVERED = "no rule allows it";
/** The same, where the user's limits refuse it whatever is asked for. */
export const BEYOND_LIMITS = `${UNCOVERED}, and the user's limits leave nothing to approve`;
