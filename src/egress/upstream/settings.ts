/**
 * The user's own proxies, as the environment of the host names them. Which destinations go through one is decided
 * here; what a sandbox may reach is not: the policy has spoken before.
 */

import { contains, parseRange, type Range } from "../../core/address/range.js";
import { AgentKernelError } from "../../core/errors.js";
import { type Host, hostText, parseHost } from "../host.js";

export interface UpstreamProxy {
  readonly kind: "http" | "socks5";
  readonly host: string;
  readonly port: number;
  readonly user: string | null;
  readonly password: string;
}

export interface UpstreamSettings {
  /** For port 80. */
  readonly http: UpstreamProxy | null;
  /** For every other port. */
  readonly https: UpstreamProxy | null;
  readonly direct: readonly DirectRule[];
}

type DirectRule =
  | { readonly kind: "all" }
  | { readonly kind: "range"; readonly range: Range; readonly port: number | null }
  | { readonly kind: "domain"; readonly domain: string; readonly port: number | null };

type Environment = Readonly<Record<string, string | undefined>>;

const defaultPorts: Readonly<Record<UpstreamProxy["kind"], number>> = { http: 80, socks5: 1080 };

/** Null where no proxy is named. Lower case wins over upper case, as curl has it. */
export function upstreamFromEnvironment(env: Environment): UpstreamSettings | null {
  const read = (name: string) => env[name.toLowerCase()] ?? env[name] ?? "";
  const all = parseProxy("ALL_PROXY", read("ALL_PROXY"));
  const http = parseProxy("HTTP_PROXY", read("HTTP_PROXY")) ?? all;
  const https = parseProxy("HTTPS_PROXY", read("HTTPS_PROXY")) ?? all;
  if (http === null && https === null) return null;
  return { http, https, direct: parseDirect(read("NO_PROXY")) };
}

function parseProxy(variable: string, text: string): UpstreamProxy | null {
  if (text === "") return null;
  const written = /^[a-z0-9+.-]+:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(written)) throw badProxy(variable, "it is not an address");
  const url = new URL(written);
  const scheme = url.protocol.slice(0, -1).toLowerCase();
  const kind = scheme === "http" ? "http" : scheme === "socks5" || scheme === "socks5h" ? "socks5" : null;
  if (kind === null) throw badProxy(variable, `its scheme ${scheme} is not http, socks5 or socks5h`);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (host === "") throw badProxy(variable, "it names no host");
  const user = url.username === "" ? null : decodeURIComponent(url.username);
  const port = url.port === "" ? defaultPorts[kind] : Number(url.port);
  return { kind, host, port, user, password: decodeURIComponent(url.password) };
}

/** Without the value: it may hold a password. */
function badProxy(variable: string, why: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `${variable} does not name a proxy that can be used: ${why}`, {
    hint: `write ${variable} as http://host:port or socks5://host:port, or unset it`,
    details: { field: variable },
  });
}

/** Entries that make no sense are passed over, as by every other reader of the variable. */
function parseDirect(text: string): DirectRule[] {
  return text.split(/[\s,]+/).flatMap((entry): DirectRule[] => {
    if (entry === "*") return [{ kind: "all" }];
    const range = parseRange(entry);
    if (range !== null) return [{ kind: "range", range, port: null }];
    const match = /^(?:\[(.+)\]|([^:]+)|(.*:.*:.*))(?::(\d{1,5}))?$/.exec(entry);
    const port = match?.[4] === undefined ? null : Number(match[4]);
    const host = parseHost((match?.[1] ?? match?.[2] ?? match?.[3] ?? "").replace(/^\*?\./, ""));
    if (host.kind === "invalid") return [];
    if (host.kind === "name") return [{ kind: "domain", domain: host.name, port }];
    const single = parseRange(`${host.address.text}/${host.address.family === 4 ? 32 : 128}`);
    return single === null ? [] : [{ kind: "range", range: single, port }];
  });
}

/** The proxy for this destination, or null where it is dialled directly. */
export function upstreamFor(settings: UpstreamSettings, host: Host, port: number): UpstreamProxy | null {
  const direct = settings.direct.some((rule) => isDirect(rule, host, port));
  return direct ? null : port === 80 ? settings.http : settings.https;
}

function isDirect(rule: DirectRule, host: Host, port: number): boolean {
  if (rule.kind === "all") return true;
  if (rule.port !== null && rule.port !== port) return false;
  if (rule.kind === "range") return host.kind === "address" && contains(rule.range, host.address);
  const name = hostText(host);
  return name === rule.domain || name.endsWith(`.${rule.domain}`);
}
