/**
 * The one place where a placeholder becomes the secret: in the value of the header that it is bound to. Pure. Its
 * caller has made sure that the request goes to the bound host and nowhere else.
 */
import { Buffer } from "node:buffer";
import type { BoundSecret } from "./bound-secret.js";

interface Replaced {
  readonly value: string;
  /** Names of the secrets that are now in it. */
  readonly names: readonly string[];
}

const BASIC = /^(Basic +)([A-Za-z0-9+/]+={0,2})$/i;

/** `value` of the header `header` (lower case); `maxLength`: null is returned where the result would be longer. */
export function replaceInHeader(
  header: string,
  value: string,
  secrets: readonly BoundSecret[],
  maxLength: number,
): Replaced | null {
  const own = secrets.filter((secret) => secret.header === header);
  const basic = own.length === 0 ? null : BASIC.exec(value);
  if (basic === null) return replaceAll(value, own, maxLength);
  const [, scheme = "", coded = ""] = basic;
  const decoded = replaceAll(Buffer.from(coded, "base64").toString("latin1"), own, maxLength);
  if (decoded === null) return null;
  if (decoded.names.length === 0) return { value, names: [] };
  const credentials = `${scheme}${Buffer.from(decoded.value, "latin1").toString("base64")}`;
  return credentials.length > maxLength ? null : { value: credentials, names: decoded.names };
}

function replaceAll(value: string, secrets: readonly BoundSecret[], maxLength: number): Replaced | null {
  let result = value;
  const names: string[] = [];
  for (const { name, placeholder, value: secret } of secrets) {
    const parts = result.split(placeholder);
    if (parts.length === 1) continue;
    const grown = result.length + (parts.length - 1) * (secret.reveal().length - placeholder.length);
    if (grown > maxLength) return null;
    result = parts.join(secret.reveal());
    names.push(name);
  }
  return { value: result, names };
}
