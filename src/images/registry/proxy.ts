/** Which proxy of the user's environment a host is reached through. Pure. Nothing on loopback ever goes through one. */
import { BlockList, isIP } from "node:net";
import { AgentKernelError } from "../../core/errors.js";
import { isLoopbackHost } from "./address-rules.js";

/** The proxy for a URL; null where it is dialled directly. */
export type ProxyChoice = (url: URL) => URL | null;

export const noProxy: ProxyChoice = () => null;

type Environment = Readonly<Record<string, string | undefined>>;

/** Only https leaves this machine, so only its proxy is asked for. */
export function proxyFromEnvironment(env: Environment): ProxyChoice {
  const name = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].find(
    (variable) => (env[variable] ?? "") !== "",
  );
  if (name === undefined) return noProxy;
  const proxy = parseProxy(env[name] ?? "", name);
  const exceptions = (env.no_proxy ?? env.NO_PROXY ?? "").split(/[\s,]+/).filter((entry) => entry !== "");
  return (url) => {
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    if (isLoopbackHost(host) || exceptions.some((entry) => isException(entry, host, url.port || "443"))) return null;
    return proxy;
  };
}

function parseProxy(text: string, variable: string): URL {
  const address = text.includes("://") ? text : `http://${text}`;
  // The value may hold a password, so it is not repeated.
  if (!URL.canParse(address)) throw refused(variable, "is no address");
  const url = new URL(address);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw refused(variable, `names a ${url.protocol.slice(0, 20)} proxy, which is not supported`);
  }
  return url;
}

function refused(variable: string, why: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `${variable} ${why}`, {
    hint: `write it as http://host:port, or unset it`,
  });
}

/** `*`, a host, a domain with or without a dot before it, an address, a range of addresses; each may have a port. */
function isException(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  if (isIP(host) !== 0) return isAddressException(entry.replace(/^\[(.*)\]$/, "$1"), host);
  const [, name = "", entryPort] = /^\*?\.?([^:]*)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
  if (name === "" || (entryPort !== undefined && entryPort !== port)) return false;
  return host === name || host.endsWith(`.${name}`);
}

function isAddressException(entry: string, host: string): boolean {
  const [network = "", prefix] = entry.split("/");
  if (isIP(network) === 0 || isIP(network) !== isIP(host)) return false;
  const family = isIP(network) === 4 ? "ipv4" : "ipv6";
  const bits = prefix === undefined ? (family === "ipv4" ? 32 : 128) : Number(prefix);
  if (!Number.isInteger(bits) || bits < 0 || bits > (family === "ipv4" ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(network, bits, family);
  return list.check(host, family);
}
