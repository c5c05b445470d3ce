/**
 * The request of a client, told from all others by its first bytes. It is always the same but for the build, so that it
 * is compared rather than understood: a parser of HTTP takes longer than everything else before a command starts.
 */
import type { Buffer } from "node:buffer";

const BEFORE_BUILD =
  "GET /client HTTP/1.1\r\nHost: agentkernel\r\nConnection: Upgrade\r\nUpgrade: agentkernel-client\r\nAgentkernel-Build: ";
const END = "\r\n\r\n";
/** Of the name of a build. */
const MAX_BUILD_BYTES = 64;

interface ClientHead {
  readonly build: string;
  /** Bytes that followed the head. */
  readonly rest: Buffer;
}

/** Null where the bytes are no whole request of a client: another request, or one in pieces. */
export function readClientHead(bytes: Buffer): ClientHead | null {
  const limit = BEFORE_BUILD.length + MAX_BUILD_BYTES + END.length;
  const text = bytes.toString("latin1", 0, limit);
  if (!text.startsWith(BEFORE_BUILD)) return null;
  const end = text.indexOf(END, BEFORE_BUILD.length);
  if (end < 0) return null;
  return { build: text.slice(BEFORE_BUILD.length, end), rest: bytes.subarray(end + END.length) };
}
