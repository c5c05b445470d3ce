/** E2B's words for the network in ours. What cannot be said is refused: a rule that is ignored would open or close more. */

import type { NetworkRequest } from "../../api/operations/fields.js";
import { anyObject, optional } from "../../api/schema/object-shape.js";
import { flag, list, nullable, text } from "../../api/schema/shapes.js";
import { whyInvalidDomain } from "../../policy/network-rules.js";
import { invalid, unsupported } from "../errors.js";

const destinations = nullable(list(text({ minLength: 1, maxLength: 253 }), { maxItems: 1000 }));

const outFields = {
  allowOut: optional(destinations, "What it may reach in spite of denyOut."),
  denyOut: optional(destinations, "What it may not reach."),
  rules: optional(nullable(anyObject()), "Not served."),
  egressProxy: optional(nullable(anyObject()), "Not served."),
};

export const networkFields = {
  ...outFields,
  allowPublicTraffic: optional(nullable(flag()), "Whether its ports are reached without a token."),
  maskRequestHost: optional(nullable(text()), "Not served."),
  httpsPorts: optional(nullable(anyObject()), "Not served."),
};

export const networkUpdateFields = {
  ...outFields,
  allow_internet_access: optional(nullable(flag()), "Whether it may reach the network."),
};

interface WantedRules {
  readonly allowOut?: readonly string[] | null;
  readonly denyOut?: readonly string[] | null;
  readonly rules?: unknown;
  readonly egressProxy?: unknown;
  readonly maskRequestHost?: unknown;
  readonly httpsPorts?: unknown;
}

const EVERYTHING = new Set(["0.0.0.0/0", "::/0"]);

/** Undefined: nothing is asked, and what the key usually gets holds. */
export function networkRequest(internet: boolean | null, asked: WantedRules): NetworkRequest | undefined {
  for (const field of ["rules", "egressProxy", "maskRequestHost", "httpsPorts"] as const) {
    const value = asked[field];
    const isEmpty = value === undefined || value === null || Object.keys(value).length === 0;
    if (!isEmpty)
      throw unsupported(`network.${field}`, "rules of the gateway are the user's: see the page on networks");
  }
  const [allow, deny] = [asked.allowOut ?? [], asked.denyOut ?? []];
  const isClosed = internet === false || deny.some((one) => EVERYTHING.has(one));
  const named = deny.find((one) => !EVERYTHING.has(one));
  if (named !== undefined) {
    throw invalid(
      "network.denyOut",
      "takes 0.0.0.0/0 alone here: deny everything, and name what is allowed in allowOut",
    );
  }
  if (!isClosed) return internet === true ? "on" : undefined;
  for (const domain of allow) {
    const why = whyInvalidDomain(domain);
    if (why !== null)
      throw invalid("network.allowOut", `has ${JSON.stringify(domain)}: names of hosts are taken (${why})`);
  }
  return allow.length === 0 ? "off" : { allowed_domains: allow };
}
