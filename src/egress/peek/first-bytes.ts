/**
 * Which protocol a client speaks, by its first bytes. Whatever a lenient server might take for HTTP or TLS counts as
 * such, so that it is checked (and refused where it is malformed) rather than carried unseen.
 */
import { Buffer } from "node:buffer";

/** `proxy`: a PROXY protocol header, which servers strip before they read the request behind it. */
type Protocol = "tls" | "http" | "socks" | "proxy" | "other" | "undecided";

const LF = 10;
const CHANGE_CIPHER = 20;
const HANDSHAKE = 22;
const HEARTBEAT = 24;
const PROXY_V2 = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** What servers have been seen to skip before a request line: line ends, and all that some languages call a blank. */
const PADDING = new Set([0, 9, 10, 11, 12, 13, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 0x85, 0xa0]);
const BLANK = String.raw`[ \t\v\f\x1c-\x1f\x85\xa0]`;
/**
 * There are servers that take a request line without a version, or with RTSP's, and read a Host behind it. Behind a
 * known method some of them take any word as the target.
 */
const REQUEST = new RegExp(
  String.raw`^(?:[a-z-]+${BLANK}+(?:/|\*|[a-z][a-z0-9+.-]*://)|(?:get|head|post|put|patch|delete|options|trace|connect)${BLANK})`,
  "i",
);

/**
 * Decides on a growing run of bytes. It remembers how far it has read: a client that sends byte by byte must not make
 * it read everything again for each.
 */
export class FirstBytes {
  #start = 0;
  #scanned = 0;

  /** `bytes`: all that came so far. `serverSpoke`: before the client did. */
  protocol(bytes: Buffer, serverSpoke = false): Protocol {
    const first = bytes[0];
    if (first === undefined) return "undecided";
    if (first >= CHANGE_CIPHER && first <= HEARTBEAT) return tlsRecord(first, bytes[1], serverSpoke);
    if (first >= 0x80) {
      const hello = sslv2(bytes);
      if (hello !== "other" || !isPaddingAt(bytes, 0)) return hello;
    }
    if ((first === 4 || first === 5) && !serverSpoke) return socks(first, bytes[1]);
    return this.#text(bytes);
  }

  #text(bytes: Buffer): Protocol {
    while (isPaddingAt(bytes, this.#start)) this.#start += bytes[this.#start] === BYTE_ORDER_MARK[0] ? 3 : 1;
    const start = this.#start;
    const lead = bytes[start];
    if (lead === undefined || isPartialMark(bytes, start)) return "undecided";
    if (lead < 0x20) return "other";
    const fresh = Math.max(start, this.#scanned);
    this.#scanned = bytes.length;
    const end = bytes.indexOf(LF, fresh);
    const zero = bytes.indexOf(0, fresh);
    // No server reads on behind a NUL in a request line; binary protocols have one early.
    const stop = zero >= 0 && (end < 0 || zero < end) ? zero : end;
    if (stop < 0) return "undecided";
    if (bytes.subarray(0, PROXY_V2.length).equals(PROXY_V2)) return "proxy";
    const line = bytes.toString("latin1", start, stop);
    if (/^proxy\s/i.test(line)) return "proxy";
    return (stop === end && /http\//i.test(line)) || REQUEST.test(line) ? "http" : "other";
  }
}

function isPaddingAt(bytes: Buffer, at: number): boolean {
  const byte = bytes[at];
  if (byte === undefined) return false;
  return PADDING.has(byte) || bytes.subarray(at, at + 3).equals(BYTE_ORDER_MARK);
}

function isPartialMark(bytes: Buffer, at: number): boolean {
  const rest = bytes.subarray(at);
  return rest.length < BYTE_ORDER_MARK.length && BYTE_ORDER_MARK.subarray(0, rest.length).equals(rest);
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
