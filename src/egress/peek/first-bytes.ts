/**
 * Which protocol a client speaks, by its first bytes. Whatever a lenient server might take for HTTP or TLS counts as
 * such, so that it is checked (and refused where it is malformed) rather than carried unseen.
 */
import type { Buffer } from "node:buffer";

export type Protocol = "tls" | "http" | "socks" | "other" | "undecided";

const TAB = 9;
const LF = 10;
const CR = 13;
const CHANGE_CIPHER = 20;
const HANDSHAKE = 22;
const HEARTBEAT = 24;
/** There are servers that take a request line without a version, or with RTSP's, and read a Host behind it. */
const REQUEST = /^(?:[a-z-]+[ \t]+(?:\/|\*|[a-z][a-z0-9+.-]*:\/\/)|connect[ \t])/i;

/** `from`: how far an earlier call has looked without finding a line end. `serverSpoke`: before the client did. */
export function protocolOf(bytes: Buffer, from = 0, serverSpoke = false): Protocol {
  const first = bytes[0];
  if (first === undefined) return "undecided";
  if (first >= CHANGE_CIPHER && first <= HEARTBEAT) return tlsRecord(first, bytes[1], serverSpoke);
  if (first >= 0x80) return sslv2(bytes);
  if ((first === 4 || first === 5) && !serverSpoke) return socks(first, bytes[1]);
  let start = 0;
  while (bytes[start] === CR || bytes[start] === LF) start++;
  const lead = bytes[start];
  if (lead === undefined) return "undecided";
  if (lead < 0x20 && lead !== TAB) return "other";
  const fresh = Math.max(start, from);
  const end = bytes.indexOf(LF, fresh);
  const zero = bytes.indexOf(0, fresh);
  // No server reads on behind a NUL in a request line; binary protocols have one early.
  if (zero >= 0 && (end < 0 || zero < end))
    return REQUEST.test(bytes.toString("latin1", start, zero)) ? "http" : "other";
  if (end < 0) return "undecided";
  const line = bytes.toString("latin1", start, end);
  return /http\//i.test(line) || REQUEST.test(line) ? "http" : "other";
}

/**
 * Some servers pass over a record of another type before the ClientHello, if it is empty; others take any version below
 * 16 in the first record. No server of TLS speaks first, and protocols whose server does may have such a byte there.
 */
function tlsRecord(type: number, major: number | undefined, serverSpoke: boolean): Protocol {
  if (major === undefined) return "undecided";
  return major === 3 || (type === HANDSHAKE && major < 16 && !serverSpoke) ? "tls" : "other";
}

/** A version, and then the command to connect (4) or a number of ways to log in (5). */
function socks(version: number, next: number | undefined): Protocol {
  if (next === undefined) return "undecided";
  return (version === 4 ? next === 1 : next > 0) ? "socks" : "other";
}

/** The hello of SSL 2, in which some servers accept newer versions. It has no server name. */
function sslv2(bytes: Buffer): Protocol {
  if (bytes.length >= 3 && bytes[2] !== 1) return "other";
  if (bytes.length < 4) return "undecided";
  return bytes[3] === 3 || bytes[3] === 0 ? "tls" : "other";
}
