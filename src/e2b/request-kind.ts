/**
 * Which part of E2B's API a request is for, by its head alone. Nothing here is proof of anything: each part checks keys,
 * tokens and signatures itself.
 */
import type { IncomingMessage } from "node:http";

/** The port that the services inside a sandbox answer on. */
export const ENVD_PORT = 49983;

type RequestKind =
  | { readonly kind: "control" }
  /** A port of a sandbox. */
  | { readonly kind: "sandbox"; readonly name: string; readonly port: number }
  /** A file by a signed address that names no sandbox: the signature says which. */
  | { readonly kind: "signed-file" };

const PORT = /^[1-9]\d{0,4}$/;
const HOST = /^(\d{1,5})-([a-z0-9][a-z0-9_.-]{0,62})$/;

/** Null: it is none of E2B's. `domain`: below which sandboxes have names. */
export function requestKind({ headers, url = "" }: IncomingMessage, domain: string): RequestKind | null {
  const byHost = hostKind(headers.host, domain);
  if (byHost !== null) return byHost;
  const name = headers["e2b-sandbox-id"];
  if (typeof name === "string") {
    const port = headers["e2b-sandbox-port"] ?? String(ENVD_PORT);
    return { kind: "sandbox", name, port: typeof port === "string" && PORT.test(port) ? Number(port) : 0 };
  }
  if (headers["x-api-key"] !== undefined) return { kind: "control" };
  return /^\/files\?/.test(url) && /[?&]signature=/.test(url) ? { kind: "signed-file" } : null;
}

function hostKind(host: string | undefined, domain: string): RequestKind | null {
  const name = host?.toLowerCase().replace(/:\d{1,5}$/, "") ?? "";
  if (!name.endsWith(`.${domain}`)) return null;
  const label = name.slice(0, -domain.length - 1);
  if (label === "api") return { kind: "control" };
  const [, port = "", sandbox = ""] = HOST.exec(label) ?? [];
  return sandbox === "" ? null : { kind: "sandbox", name: sandbox, port: Number(port) };
}
