/** Decides which hosts the first bytes of a connection may name, given what it was allowed for. */
import { type Host, hostText, parseAuthority, parseHost } from "../host.js";
import type { Rules, Verdict } from "../rules.js";

export interface Expectation {
  /** What was asked for and allowed. */
  readonly host: Host;
  readonly port: number;
  /** Allowed by its name: nothing but that name may be meant, and it must be said. */
  readonly exact: boolean;
  readonly rules: Rules;
  /** The policy's word on another destination, for a request that asks the peer to be a proxy. */
  judge(host: Host, port: number): Verdict;
}

/** A refusal, and the protocol in which the client would understand an answer. */
export interface PeekRefusal {
  readonly protocol: "tls" | "http" | "other";
  readonly reason: string;
}

const differs = (what: string, said: string, meant: string) => `${what} says ${said}, allowed was ${meant}`;

/** Why a connection may not be about this name, or null. */
export function whyUnexpectedName(expected: Expectation, what: string, text: string, port: number): string | null {
  const authority = what === "SNI" ? parseSni(text) : parseAuthority(text);
  if ("kind" in authority) return `${what} is not a name: ${authority.why}`;
  return whyUnexpected(expected, what, authority.host, port);
}

function parseSni(text: string) {
  const host = parseHost(text);
  return host.kind === "invalid" ? host : { host, port: null };
}

export function whyUnexpected(expected: Expectation, what: string, host: Host, port: number): string | null {
  const said = hostText(host);
  const meant = hostText(expected.host);
  if (expected.exact) return said === meant ? null : differs(what, said, meant);
  const denied = host.kind === "name" ? expected.rules.deniedName(host.name, port) : null;
  return denied === null ? null : `${what} says ${said}: ${denied}`;
}
