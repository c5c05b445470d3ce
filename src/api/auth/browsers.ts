/**
 * Pages of other sites, open in a browser on this machine, can send requests here too: by our address, or by a name of
 * theirs that they make resolve to it. A browser says where a page is from; that must be us.
 */
import type { IncomingHttpHeaders } from "node:http";
import { AgentKernelError } from "../../core/errors.js";
import type { Newcomers } from "../http/newcomers.js";
import { isLoopback } from "./tcp-peer.js";

export interface Door {
  /** `unix`: only the user's own processes reach it. */
  readonly kind: "unix" | "tcp";
  readonly isTls: boolean;
  /** Where it listens, as it was asked for; null for a socket file. */
  readonly host: string | null;
  /** Names below this one are ours too; null where there is none. */
  readonly domain: string | null;
  /** Is told of connections on which somebody known asks. */
  readonly newcomers: Newcomers | null;
}

export function refuseForeignPages(headers: IncomingHttpHeaders, door: Door, localAddress: string | undefined): void {
  const { host, origin } = headers;
  if (door.kind === "tcp" && isLoopback(localAddress) && !isOwnName(host, door)) {
    throw new AgentKernelError("forbidden", "the Host header names another host than this one", {
      hint: "ask for it by localhost or 127.0.0.1",
      details: { field: "Host" },
    });
  }
  const own = `${door.isTls ? "https" : "http"}://${host ?? ""}`;
  if (origin !== undefined && origin.toLowerCase() !== own.toLowerCase()) throw foreign("Origin");
  const site = headers["sec-fetch-site"];
  if (site === "cross-site" || site === "same-site") throw foreign("Sec-Fetch-Site");
}

function foreign(field: string): AgentKernelError {
  return new AgentKernelError("forbidden", "pages of other origins may not ask anything here", {
    hint: "let your own server ask, with a key",
    details: { field },
  });
}

/** A port may follow; which one does not matter, since a page of another port is of another origin. */
function isOwnName(host: string | undefined, door: Door): boolean {
  const name = /^(\[[0-9a-f:.]+\]|[^:]+)(?::\d{1,5})?$/i
    .exec(host ?? "")?.[1]
    ?.toLowerCase()
    .replace(/\.$/, "");
  if (name === undefined) return false;
  if (["localhost", "127.0.0.1", "[::1]"].includes(name) || name === door.host?.toLowerCase()) return true;
  return door.domain !== null && name.endsWith(`.${door.domain}`);
}
