/** Where a registry's images are asked for: its mirrors in order, then itself. */
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { DEFAULT_REGISTRY } from "../reference.js";
import { type AddressRule, isLoopbackHost } from "./address-rules.js";

export interface Endpoint {
  /** How a login for it is looked up, and what messages call it. */
  readonly name: string;
  /** `https://host:port`, or `http:` for loopback. */
  readonly origin: string;
  readonly loopback: boolean;
  /** Nobody said which: https is tried first, and http where no TLS is spoken. Only for loopback. */
  readonly schemeOpen: boolean;
  /** It stands on a private network, and the user lets such registries lead to other hosts of private networks. */
  readonly mayLeadToPrivate?: boolean;
  /** Somebody else than the user named it: no address that is not public is dialled for it. */
  readonly publicOnly?: boolean;
}

/** Registry as references name it → addresses of mirrors, such as `https://mirror.example` or `http://localhost:5000`. */
export type Mirrors = Readonly<Record<string, readonly string[]>>;

/** The host behind the name; the name itself serves no images. */
const apiHosts: ReadonlyMap<string, string> = new Map([[DEFAULT_REGISTRY, "registry-1.docker.io"]]);

/**
 * With mirrors only, a registry itself is asked where it is on this machine and has none. `publicOnly` is about the
 * registry: mirrors are always the user's choice.
 */
export function endpointsOf(
  registry: string,
  mirrors: Mirrors = {},
  mirrorsOnly = false,
  publicOnly = false,
): Endpoint[] {
  const named = (Object.hasOwn(mirrors, registry) ? (mirrors[registry] ?? []) : []).map(mirrorEndpoint);
  const itself = publicOnly ? publicEndpoint(registry) : registryEndpoint(registry);
  if (!mirrorsOnly) return [...named, itself];
  if (named.length > 0) return named;
  if (itself.loopback) return [itself];
  throw new AgentKernelError(
    "registry_unreachable",
    `${escapeText(registry)} has no mirror, and only mirrors are asked`,
    {
      hint: `name one as ${escapeText(registry)}=HOST among the mirrors, or leave the word only out`,
    },
  );
}

function registryEndpoint(registry: string): Endpoint {
  const { origin, hostname } = new URL(`https://${apiHosts.get(registry) ?? registry}`);
  const loopback = isLoopbackHost(hostname);
  return { name: registry, origin, loopback, schemeOpen: loopback };
}

function publicEndpoint(registry: string): Endpoint {
  return { ...registryEndpoint(registry), loopback: false, schemeOpen: false, publicOnly: true };
}

function mirrorEndpoint(text: string): Endpoint {
  const shown = escapeText(text.slice(0, 100));
  const refuse = (why: string): never => {
    throw new AgentKernelError("invalid_argument", `"${shown}" is no mirror: ${why}`, {
      hint: "write it as https://host or https://host:port; http only for loopback",
    });
  };
  const hasScheme = /^[a-z]+:\/\//.test(text);
  const address = hasScheme ? text : `https://${text}`;
  if (!URL.canParse(address)) return refuse("it is no address");
  const url = new URL(address);
  const loopback = isLoopbackHost(url.hostname);
  if (url.username !== "" || url.password !== "") return refuse("a login has no place in it");
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") return refuse("it has more than a host and a port");
  if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback)) {
    return refuse("plain HTTP is only used with loopback");
  }
  return { name: url.host, origin: url.origin, loopback, schemeOpen: loopback && !hasScheme };
}

/** What may be dialled for a URL that this endpoint's registry, or its DNS, led to. */
export function addressRuleFor(url: URL, endpoint: Endpoint): AddressRule {
  if (endpoint.publicOnly === true) return "outside";
  if (url.protocol === "http:") return "here";
  if (url.host === new URL(endpoint.origin).host) return endpoint.loopback ? "here" : "any";
  if (endpoint.loopback) return "here-or-outside";
  return endpoint.mayLeadToPrivate === true ? "private-or-outside" : "outside";
}
