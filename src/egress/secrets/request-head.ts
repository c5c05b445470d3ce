/**
 * The head of a request to a host that a secret is bound to: checked for being about that host and nothing else,
 * then written anew with the secret in its header and with no encoding accepted. All other lines stay.
 */
import { Buffer } from "node:buffer";
import { type InvalidHost, parseAuthority } from "../host.js";
import { parseRequestHead, type RequestHead } from "../peek/http-head.js";
import type { BoundSecret } from "./bound-secret.js";
import { replaceInHeader } from "./replacement.js";

export interface BoundHost {
  readonly host: string;
  readonly port: number;
  /** Those bound to this host. */
  readonly secrets: readonly BoundSecret[];
  /** Of all hosts: their placeholders are looked for, and left. */
  readonly all: readonly BoundSecret[];
  readonly headBytes: number;
}

interface RewrittenHead {
  readonly request: RequestHead;
  readonly bytes: Buffer;
  readonly replaced: readonly { readonly name: string; readonly header: string }[];
  /** Placeholders that were left, and where. */
  readonly left: readonly { readonly name: string; readonly where: string }[];
}

/** Methods by which a server sends a request back as it came. */
const echoing = new Set(["TRACE", "TRACK"]);
/** A line end that is none to some servers would make one line here two there. */
const LOOSE_END = /\r(?!\n)|(?<!\r)\n/;

/** A text where the request is refused. */
export function rewriteRequestHead(head: Buffer, bound: BoundHost): RewrittenHead | string {
  const text = head.toString("latin1").replace(/^(?:\r\n)+/, "");
  if (LOOSE_END.test(text)) return "a line that does not end in CR LF";
  const request = parseRequestHead(head);
  if (typeof request === "string") return request;
  return whyNotBound(request, bound) ?? rewrite(text, request, bound);
}

function whyNotBound({ method, target, host }: RequestHead, bound: BoundHost): string | null {
  if (echoing.has(method.toUpperCase())) return `${method.toUpperCase()}, which would echo the secret`;
  if (method.toUpperCase() === "CONNECT") return "CONNECT to a host that a secret is bound to";
  if (!target.startsWith("/") && target !== "*") return "a request whose address is not a path";
  if (host === null) return "a request without a Host";
  const named = parseAuthority(host);
  if (isInvalid(named)) return `the Host is not a name: ${named.why}`;
  const same = named.host.kind === "name" && named.host.name === bound.host;
  if (!same || (named.port ?? bound.port) !== bound.port) return `Host differs from ${bound.host}:${bound.port}`;
  return null;
}

const isInvalid = (named: object): named is InvalidHost => "kind" in named;

function rewrite(text: string, request: RequestHead, bound: BoundHost): RewrittenHead | string {
  const [first = "", ...lines] = text.slice(0, -"\r\n\r\n".length).split("\r\n");
  const replaced: RewrittenHead["replaced"][number][] = [];
  const left = bound.all.filter(({ placeholder }) => request.target.includes(placeholder)).map(inUrl);
  const out = [first];
  for (const line of lines) {
    const colon = line.indexOf(":");
    const header = line.slice(0, colon).toLowerCase();
    const result = replaceInHeader(header, line.slice(colon + 1).trim(), bound.secrets, bound.headBytes);
    if (result === null) return "too large a head, with the secret in it";
    replaced.push(...result.names.map((name) => ({ name, header })));
    for (const { name, placeholder } of bound.all) {
      if (result.value.includes(placeholder)) left.push({ name, where: `header ${header}` });
    }
    if (result.names.length > 0) out.push(`${line.slice(0, colon)}: ${result.value}`);
    // What is packed cannot be searched for the secret on its way back.
    else if (header === "accept-encoding") out.push(`${line.slice(0, colon)}: identity`);
    else if (header !== "te") out.push(line);
  }
  return { request, bytes: Buffer.from(`${out.join("\r\n")}\r\n\r\n`, "latin1"), replaced, left };
}

const inUrl = ({ name }: BoundSecret) => ({ name, where: "the address" });
