/** Answers a client in its own protocol, so that a refusal does not look like a broken network. */
import { Buffer } from "node:buffer";
import { STATUS_CODES } from "node:http";
import { escapeText } from "../core/escape.js";
import type { PeekRefusal } from "./peek/expectation.js";

/** Alert record: fatal, access denied (RFC 8446, 6.2). */
const ACCESS_DENIED = Buffer.from([21, 3, 3, 0, 2, 2, 49]);

export function httpAnswer(status: number, reason: string): Buffer {
  const body = `${escapeText(reason)}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Refused"}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** Null where nothing that we could say would be understood. */
export function refusalAnswer({ protocol, reason }: PeekRefusal, answerable: boolean): Buffer | null {
  if (protocol === "tls") return ACCESS_DENIED;
  if (protocol === "http" && answerable) return httpAnswer(403, `blocked by the sandbox's network policy: ${reason}`);
  return null;
}
