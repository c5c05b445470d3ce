/** Where a plain proxy request goes, and how it reads to the server there. */
import type { IncomingMessage } from "node:http";
import type { OutgoingFailure } from "../../core/egress.js";
import { type Authority, authorityText, type InvalidHost, parseAuthority } from "../host.js";
import { sameHost, targetAuthority } from "../peek/http-watch.js";
import { fieldsOf, valuesOf } from "./headers.js";

export const statusOf: Readonly<Record<OutgoingFailure, number>> = {
  denied: 403,
  not_found: 502,
  refused: 502,
  unreachable: 502,
  timed_out: 504,
  limit: 503,
  failed: 502,
};

/** Where a plain request goes: an absolute address, and no Host beside it that says otherwise. */
export function plainTarget(request: IncomingMessage): Authority | InvalidHost {
  const target = targetAuthority(request.url ?? "");
  if (target === null) return { kind: "invalid", why: "this is a proxy: ask for http://host/path" };
  if ("kind" in target) return target;
  const hosts = valuesOf(fieldsOf(request.rawHeaders), "host");
  if (hosts.length > 1) return { kind: "invalid", why: "the request has more than one Host" };
  const [host] = hosts;
  if (host === undefined) return target;
  const named = parseAuthority(host);
  if ("kind" in named) return { kind: "invalid", why: `the Host is not a name: ${named.why}` };
  return sameHost(target, named) ? target : { kind: "invalid", why: "the request's address and its Host differ" };
}

export function pathOf(url: string): string {
  const path = url.replace(/^http:\/\/[^/?#]*/i, "");
  return path.startsWith("/") ? path : `/${path}`;
}

export function hostField({ host, port }: Authority): string {
  const text = authorityText(host, port ?? 80);
  return port === null || port === 80 ? text.slice(0, text.lastIndexOf(":")) : text;
}
