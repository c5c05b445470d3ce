/**
 * One canonical form for what a connection is asked to: a name or an address, and a port. Everything is compared,
 * resolved, dialled and logged in this form, so that two spellings of one destination cannot be judged differently.
 */
import { domainToASCII } from "node:url";
import { type Address, endsInNumber, parseAddress, parseOddIpv4 } from "../core/address/address.js";
import { escapeText } from "../core/escape.js";

export type Host =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "address"; readonly address: Address };

export interface InvalidHost {
  readonly kind: "invalid";
  readonly why: string;
}

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
/** Separators of URLs, escapes, white space and control characters: no name has them, and parsers disagree on them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const FORBIDDEN = /[\u0000-\u0020\u007f-\u009f%@/\\?#[\]<>^|"`{}*,;=()!$&'+~]/;
const MAX_NAME = 253;

const invalid = (why: string): InvalidHost => ({ kind: "invalid", why });

export function parseHost(text: string): Host | InvalidHost {
  if (text === "") return invalid("it is empty");
  if (text.length > 4 * MAX_NAME) return invalid("it is too long");
  const literal = parseAddress(text);
  if (literal !== null) return { kind: "address", address: literal };
  if (FORBIDDEN.test(text)) return invalid("it has a character that no name has");
  if (text.includes(":")) return invalid("it is not an IPv6 address");
  const bare = text.endsWith(".") ? text.slice(0, -1) : text;
  if (endsInNumber(bare)) return asOddIpv4(bare);
  const ascii = domainToASCII(bare);
  if (ascii === "") return invalid("it is not a domain name");
  // Full-width digits and the like become plain ones only now.
  if (endsInNumber(ascii)) return asOddIpv4(ascii);
  if (ascii.length > MAX_NAME) return invalid(`it is longer than ${MAX_NAME} characters`);
  if (!ascii.split(".").every((label) => LABEL.test(label))) return invalid("it has a part that is not a label");
  return { kind: "name", name: ascii };
}

function asOddIpv4(text: string): Host | InvalidHost {
  const address = parseOddIpv4(text);
  return address === null ? invalid("it is neither a name nor an address") : { kind: "address", address };
}

export interface Authority {
  readonly host: Host;
  /** Null where none was written. */
  readonly port: number | null;
}

/** `host`, `host:port`, `[ipv6]` or `[ipv6]:port`. */
export function parseAuthority(text: string): Authority | InvalidHost {
  const match = /^(?:\[([^[\]]*)\]|([^:[\]]*))(?::(.*))?$/s.exec(text);
  if (match === null) return invalid("it is not of the form host:port");
  const bracketed = match[1];
  const port = match[3] === undefined ? null : parsePort(match[3]);
  if (port === undefined) return invalid("its port is not a whole number from 1 to 65535");
  if (bracketed === undefined) {
    const host = parseHost(match[2] ?? "");
    return host.kind === "invalid" ? host : { host, port };
  }
  const address = bracketed.includes(":") ? parseAddress(bracketed) : null;
  return address === null ? invalid("it is not an IPv6 address") : { host: { kind: "address", address }, port };
}

function parsePort(text: string): number | undefined {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

export function hostText(host: Host): string {
  return host.kind === "name" ? host.name : host.address.text;
}

/** As in a URL: IPv6 in brackets. */
export function authorityText(host: Host, port: number): string {
  const text = hostText(host);
  return text.includes(":") ? `[${text}]:${port}` : `${text}:${port}`;
}

/** For logs and messages: what was asked for, when it has no canonical form. */
export function shown(text: string): string {
  const cut = text.length > 300 ? `${text.slice(0, 300)}…` : text;
  return escapeText(cut);
}
