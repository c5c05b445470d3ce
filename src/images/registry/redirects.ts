/** Follows redirects by hand: a registry may send us to where its blobs lie, but not anywhere, and our login stays home. */
import { escapeText } from "../../core/escape.js";
import { isLoopbackHost } from "./address-rules.js";
import { addressRuleFor, type Endpoint } from "./endpoint.js";
import { dismiss, type Exchanger, type RegistryResponse } from "./exchange.js";
import { nonsense, unsafe } from "./failures.js";

const MAX_REDIRECTS = 5;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

interface FollowedRequest {
  readonly method: "GET" | "HEAD";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent to the endpoint's own origin and to no other. */
  readonly authorization: string | null;
}

export async function sendFollowing(
  exchanger: Exchanger,
  endpoint: Endpoint,
  { method, url: first, headers, authorization }: FollowedRequest,
): Promise<RegistryResponse> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const own = url.origin === endpoint.origin && authorization !== null;
    const answer = await exchanger.send({
      method,
      url,
      headers: own ? { ...headers, authorization } : headers,
      rule: addressRuleFor(url, endpoint),
    });
    const { location } = answer.headers;
    if (!redirectStatuses.has(answer.status) || location === undefined) return answer;
    dismiss(answer);
    url = redirectTarget(location, url, endpoint);
  }
  throw nonsense(endpoint.name, `redirects more than ${MAX_REDIRECTS} times`);
}

function redirectTarget(location: string, from: URL, endpoint: Endpoint): URL {
  if (!URL.canParse(location, from.href)) throw nonsense(endpoint.name, "redirects to something that is no address");
  const target = new URL(location, from.href);
  checkLedTo(target, from, endpoint, "redirects");
  return target;
}

/** What holds for every URL that a registry chose: redirects, token services. */
export function checkLedTo(target: URL, from: URL, { name }: Endpoint, verb: string): void {
  const hint = "this registry cannot be used safely; tell its operator";
  const host = escapeText(target.host);
  if (target.protocol !== "https:" && target.protocol !== "http:") {
    throw unsafe(`${name} ${verb} to a ${escapeText(target.protocol)} address`, hint);
  }
  if (target.username !== "" || target.password !== "") {
    throw unsafe(`${name} ${verb} to an address with a login in it`, hint);
  }
  if (target.protocol === "http:" && from.protocol === "https:") {
    throw unsafe(`${name} ${verb} from https to plain http at ${host}`, hint);
  }
  if (target.protocol === "http:" && !isLoopbackHost(target.hostname)) {
    throw unsafe(`${name} ${verb} to plain http at ${host}, which is not on loopback`, hint);
  }
}
