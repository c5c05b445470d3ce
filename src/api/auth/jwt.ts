/** Tokens that somebody else signs. A chunk of its own: most servers know only keys. */
import { readFileSync } from "node:fs";
import { createLocalJWKSet, createRemoteJWKSet, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { AgentKernelError } from "../../core/errors.js";
import { type Scope, scopes } from "../operations/operation.js";
import { type Caller, noQuotas } from "./caller.js";
import { readCeiling, smallCeiling } from "./key-ceiling.js";

export interface JwtSettings {
  /** A file, or an address of HTTPS (or of this machine). */
  readonly jwks: string;
  readonly issuer: string;
  readonly audience: string;
}

/** Signatures by a key pair only: with a shared secret, or none, whoever can check could also sign. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
const CLOCK_SLACK_S = 30;
const CEILING_CLAIM = "agentkernel_ceiling";

export class JwtVerifier {
  readonly #settings: JwtSettings;
  readonly #keys: JWTVerifyGetKey;

  constructor(settings: JwtSettings) {
    this.#settings = settings;
    this.#keys = keySet(settings.jwks);
  }

  /** Null where the token is not valid now. */
  async verify(token: string): Promise<Caller | null> {
    const { issuer, audience } = this.#settings;
    let payload: JWTPayload;
    try {
      const options = { issuer, audience, algorithms: ALGORITHMS, clockTolerance: CLOCK_SLACK_S };
      ({ payload } = await jwtVerify(token, this.#keys, { ...options, requiredClaims: ["sub", "exp"] }));
    } catch (error) {
      // Whatever is wrong with it, its bearer learns no more than that.
      if (isTokenFault(error)) return null;
      throw new AgentKernelError("internal", "the keys that tokens are checked by could not be had", { cause: error });
    }
    const { [CEILING_CLAIM]: stated } = payload;
    const ceiling = stated === undefined ? smallCeiling : readCeiling(stated);
    // One that is not understood must not be taken for a wider one, nor for none.
    if (ceiling === null) return null;
    const isAdmin = scopesIn(payload).includes("admin");
    return {
      id: `jwt:${payload.sub ?? ""}`,
      scopes: scopesIn(payload),
      isTrusted: isAdmin,
      sandboxes: null,
      quotas: noQuotas,
      ceiling: isAdmin ? null : ceiling,
      validUntilMs: ((payload.exp ?? 0) + CLOCK_SLACK_S) * 1000,
    };
  }
}

/** ERR_JOSE_GENERIC is an answer of the issuer that is no set of keys. */
function isTokenFault(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^ERR_(JWT|JWS|JOSE_(?!GENERIC)|JWKS_NO_MATCHING|JWKS_MULTIPLE)/.test(code);
}

function keySet(place: string): JWTVerifyGetKey {
  if (!/^https?:/.test(place)) return fileKeySet(place);
  const url = new URL(place);
  if (url.protocol !== "https:" && !["localhost", "127.0.0.1", "[::1]"].includes(url.hostname)) {
    throw new AgentKernelError("invalid_argument", "--jwks: keys are only taken over HTTPS, or from this machine", {
      hint: "whoever could change them on the way could sign tokens",
    });
  }
  return createRemoteJWKSet(url);
}

function fileKeySet(path: string): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(JSON.parse(readFileSync(path, "utf8")));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AgentKernelError("invalid_argument", `--jwks: ${path} is no set of keys: ${why}`, {
      hint: 'it is a JSON file of the form {"keys": [ … ]}',
      cause,
    });
  }
}

/** `scope` as OAuth has it, separated by blanks, or a list; with or without our name in front. */
function scopesIn({ scope, scopes: listed }: JWTPayload): readonly Scope[] {
  const words = [...(typeof scope === "string" ? scope.split(" ") : []), ...(Array.isArray(listed) ? listed : [])];
  const named = words.map((word) => String(word).replace(/^agentkernel:/, ""));
  return scopes.filter((one) => named.includes(one));
}
