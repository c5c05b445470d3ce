/** Reads `WWW-Authenticate`: what a registry wants to see before it serves. */

export type Challenge =
  | { readonly scheme: "basic" }
  | {
      readonly scheme: "bearer";
      readonly realm: string;
      readonly service: string | null;
      readonly scope: string | null;
    };

const MAX_HEADER_CHARS = 4096;

/** The strongest challenge that we can answer; null where there is none. */
export function parseChallenge(header: string | undefined): Challenge | null {
  if (header === undefined || header.length > MAX_HEADER_CHARS) return null;
  let basic: Challenge | null = null;
  for (const { scheme, parameters } of schemes(header)) {
    const realm = parameters.get("realm");
    if (scheme === "bearer" && realm !== undefined) {
      return { scheme, realm, service: parameters.get("service") ?? null, scope: parameters.get("scope") ?? null };
    }
    if (scheme === "basic") basic = { scheme };
  }
  return basic;
}

interface Scheme {
  readonly scheme: string;
  readonly parameters: Map<string, string>;
}

/** `Bearer realm="…",service="…", Basic realm="…"`: a word without `=` begins the next scheme. */
function schemes(header: string): Scheme[] {
  const found: Scheme[] = [];
  const token = /([A-Za-z0-9._~+/-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+)))?[\s,]*/gy;
  for (const [, name = "", quoted, bare] of header.trim().matchAll(token)) {
    const value = quoted?.replace(/\\(.)/g, "$1") ?? bare;
    if (value === undefined) found.push({ scheme: name.toLowerCase(), parameters: new Map() });
    else {
      const parameters = found.at(-1)?.parameters;
      // The first of two that say the same counts.
      if (parameters?.has(name.toLowerCase()) === false) parameters.set(name.toLowerCase(), value);
    }
  }
  return found;
}
