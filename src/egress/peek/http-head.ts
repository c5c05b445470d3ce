/**
 * Reads the head of an HTTP/1 message, strictly: whatever two servers could read differently (folded lines, white
 * space before a colon, two lengths, a length beside chunks, stray control characters) is refused.
 */
import type { Buffer } from "node:buffer";

export type Body =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  /** Of a response only: up to the end of the connection. */
  | { readonly kind: "rest" };

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly host: string | null;
  readonly body: Body;
  /** What the client would change to, in lower case; empty where it does not ask. */
  readonly upgrade: readonly string[];
}

interface ResponseHead {
  readonly status: number;
  readonly body: Body;
}

type Headers = ReadonlyMap<string, readonly string[]>;

const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])$/;
const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})(?: .*)?$/;
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;
const LENGTH = /^\d{1,15}$/;

/** `head` has everything up to the empty line. A text where it is refused. */
export function parseRequestHead(head: Buffer): RequestHead | string {
  const [line = "", ...fields] = linesOf(head);
  const match = REQUEST_LINE.exec(line);
  if (line === "PRI * HTTP/2.0") return "HTTP/2 without TLS, in which no Host can be read";
  if (match === null) return "a malformed request line";
  const headers = parseFields(fields);
  if (typeof headers === "string") return headers;
  const hosts = headers.get("host") ?? [];
  if (hosts.length > 1) return "more than one Host";
  const body = requestBody(headers, match[3] === "1");
  if (typeof body === "string") return body;
  return {
    method: match[1] ?? "",
    target: match[2] ?? "",
    host: hosts[0] ?? null,
    body,
    upgrade: tokens(headers, "upgrade"),
  };
}

export function parseResponseHead(head: Buffer, method: string): ResponseHead | string {
  const [line = "", ...fields] = linesOf(head);
  const match = STATUS_LINE.exec(line);
  if (match === null) return "a malformed status line";
  const headers = parseFields(fields);
  if (typeof headers === "string") return headers;
  const status = Number(match[2]);
  const bodiless = status < 200 || status === 204 || status === 304 || method === "HEAD";
  if (bodiless || (method === "CONNECT" && status < 300)) return { status, body: { kind: "none" } };
  const coding = tokens(headers, "transfer-encoding");
  if (coding.length > 0) return { status, body: { kind: coding.at(-1) === "chunked" ? "chunked" : "rest" } };
  const lengths = new Set(headers.get("content-length") ?? []);
  const [length] = lengths;
  if (lengths.size === 0) return { status, body: { kind: "rest" } };
  if (lengths.size > 1 || length === undefined || !LENGTH.test(length)) return "a malformed Content-Length";
  return { status, body: { kind: "length", bytes: Number(length) } };
}

function linesOf(head: Buffer): string[] {
  return head
    .toString("latin1")
    .replace(/^[\r\n]+/, "")
    .replace(/\r?\n\r?\n$/, "")
    .split(/\r?\n/);
}

function parseFields(lines: readonly string[]): Headers | string {
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!FIELD_NAME.test(name) || CONTROL.test(line)) return "a malformed header line";
    const value = trimBlank(line, colon + 1);
    const known = headers.get(name);
    if (known === undefined) headers.set(name, [value]);
    else known.push(value);
  }
  return headers;
}

/** From `start` on, without blanks around it. No pattern: one that looks for blanks at an end is slow on many. */
function trimBlank(line: string, start: number): string {
  const isBlank = (at: number) => line[at] === " " || line[at] === "\t";
  let [from, to] = [start, line.length];
  while (from < to && isBlank(from)) from++;
  while (to > from && isBlank(to - 1)) to--;
  return line.slice(from, to);
}

function tokens(headers: Headers, name: string): string[] {
  const all = (headers.get(name) ?? []).join(",").toLowerCase().split(",");
  return all.map((token) => token.trim()).filter((token) => token !== "");
}

function requestBody(headers: Headers, chunksKnown: boolean): Body | string {
  const codings = headers.get("transfer-encoding");
  const lengths = headers.get("content-length");
  if (codings !== undefined) {
    if (lengths !== undefined) return "both Content-Length and Transfer-Encoding";
    if (!chunksKnown || codings.length > 1 || codings[0]?.toLowerCase() !== "chunked") {
      return "a Transfer-Encoding other than chunked";
    }
    return { kind: "chunked" };
  }
  if (lengths === undefined) return { kind: "none" };
  const [length] = lengths;
  if (lengths.length > 1 || length === undefined || !LENGTH.test(length)) return "a malformed Content-Length";
  return length === "0" ? { kind: "none" } : { kind: "length", bytes: Number(length) };
}
