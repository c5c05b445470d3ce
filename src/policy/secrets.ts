/** Secrets bound to one host and one header. Their values are never part of a policy. */
import type { SecretBinding } from "../core/policy.js";
import { whyInvalidDomain } from "./network-rules.js";

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;

/** Headers that steer the connection itself: a secret in one would change where the request goes or where it ends. */
const steering = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "te",
  "trailer",
  "upgrade",
  "expect",
  "proxy-connection",
  "keep-alive",
]);

/** Why the text is not the name of a header that can carry a secret, or null. */
export function whyInvalidHeader(text: string): string | null {
  if (!TOKEN.test(text)) return "it is not the name of a header";
  return steering.has(text.toLowerCase()) ? "it steers the connection and never carries a secret" : null;
}

/** Why the value is not a secret bound to a host, or null. */
export function whyInvalidSecret(value: unknown): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "a secret is not an object";
  const { name, host, header, ...rest } = value as Readonly<Record<string, unknown>>;
  const [extra] = Object.keys(rest);
  if (extra !== undefined) return `a secret has no key "${extra}"`;
  if (typeof name !== "string" || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return "its name is not one of a variable";
  if (typeof host !== "string" || typeof header !== "string") return "its host or header is not a text";
  const why = host.startsWith("*") ? "a secret goes to one host only" : whyInvalidDomain(host);
  if (why !== null) return `"${host}" is not a host: ${why}`;
  const whyHeader = whyInvalidHeader(header);
  return whyHeader === null ? null : `"${header}" is not a header: ${whyHeader}`;
}

/** A secret is known by its name: a higher layer says anew where it goes. */
export function joinSecrets(lower: readonly SecretBinding[], higher: readonly SecretBinding[]) {
  const replaced = new Set(higher.map(({ name }) => name));
  return [...lower.filter(({ name }) => !replaced.has(name)), ...higher];
}
