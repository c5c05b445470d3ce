/** Heads of requests and responses of HTTP/1, as the gateway reads them. */
import type { Buffer } from "node:buffer";
import { parseRequestHead, parseResponseHead } from "../../../src/egress/peek/http-head.js";

export function run(data: Buffer): void {
  const request = parseRequestHead(data);
  if (typeof request !== "string") {
    // Line ends before the first line are passed over.
    const text = data.toString("latin1").replace(/^[\r\n]+/, "");
    if (request.host !== null && !text.includes(request.host)) throw new Error("an invented Host");
    if (!text.startsWith(`${request.method} ${request.target} HTTP/1.`)) throw new Error("another request line");
    // What is behind a line end would be a line of its own to somebody.
    if (/[\r\n]/.test(request.target + (request.host ?? ""))) throw new Error("a line end within a value");
  }
  for (const method of ["GET", "HEAD", "CONNECT"]) parseResponseHead(data, method);
}
