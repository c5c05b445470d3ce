/**
 * Whether a name (of a variable, an option, a header, a field) speaks of a secret. Used for hiding values from records,
 * so it errs towards yes: a sort key that is hidden costs nothing.
 */

/** A part of a name that ends with one of these is about a secret: `GITHUBTOKEN`, `authToken`, `x-api-key`. */
const ENDINGS = [
  "token",
  "secret",
  "secrets",
  "password",
  "passwd",
  "passphrase",
  "passcode",
  "apikey",
  "accesskey",
  "secretkey",
  "privatekey",
  "credential",
  "credentials",
  "cookie",
  "bearer",
  "authorization",
];

/** A part of a name that is one of these. */
const PARTS = new Set([
  "pass",
  "pwd",
  "pw",
  "key",
  "auth",
  "oauth",
  "pat",
  "dsn",
  "jwt",
  "sig",
  "signature",
  "session",
  "sessionid",
  "sid",
  "creds",
  "cred",
  "otp",
  "webhook",
  "pin",
]);

/** Longer names are not looked at as a whole; nobody calls a secret so. */
export const MAX_NAME_CHARS = 64;

const known = new Map<string, boolean>();
/** A process that serves many sees the same names again and again. */
const MOST_KNOWN = 1024;

export function isSecretName(name: string): boolean {
  const before = known.get(name);
  if (before !== undefined) return before;
  const isSecret = speaksOfSecret(name);
  if (known.size >= MOST_KNOWN) known.clear();
  if (name.length <= MAX_NAME_CHARS) known.set(name, isSecret);
  return isSecret;
}

function speaksOfSecret(name: string): boolean {
  if (name.length > MAX_NAME_CHARS || name === "PWD" || name === "OLDPWD") return false;
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .some((part) => PARTS.has(part) || ENDINGS.some((ending) => part.endsWith(ending)));
}

/** Short values and plain words are in every other text: hiding them would hide the text and protect nothing. */
const MIN_VALUE_CHARS = 6;

/** Caches results for frozen environments: a process has few of them and asks with every command. */
const found = new WeakMap<object, readonly string[]>();

/** The values in an environment that must not appear in any record. */
export function secretValues(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  if (!Object.isFrozen(env)) return valuesIn(env);
  const before = found.get(env) ?? valuesIn(env);
  found.set(env, before);
  return before;
}

function valuesIn(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const values: string[] = [];
  for (const name of Object.keys(env)) {
    if (!isSecretName(name)) continue;
    const value = env[name];
    if (value !== undefined && value.length >= MIN_VALUE_CHARS && !isPlain(value)) values.push(value);
  }
  return values;
}

/** A path or a lower-case word, as in `SSH_AUTH_SOCK=/run/…` and `AUTH=enabled`. */
function isPlain(value: string): boolean {
  return value.startsWith("/") || /^[a-z]{1,12}$/.test(value);
}
