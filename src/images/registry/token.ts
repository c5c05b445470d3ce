/** Asks a registry's token service for a token, with the login where there is one. */
import { escapeText } from "../../core/escape.js";
import type { Challenge } from "./challenge.js";
import type { Credentials } from "./credentials.js";
import { addressRuleFor, type Endpoint } from "./endpoint.js";
import { dismiss, type ExchangeRequest, type Exchanger, type RegistryResponse } from "./exchange.js";
import { nonsense, statusFailure, unsafe } from "./failures.js";
import { checkLedTo } from "./redirects.js";
import { retryAfterMs } from "./retry.js";

const MAX_TOKEN_ANSWER_BYTES = 256 * 1024;
const TOKEN = /^[\x21-\x7e]{1,65536}$/;

interface TokenRequest {
  readonly challenge: Extract<Challenge, { scheme: "bearer" }>;
  readonly scope: string;
  readonly credentials: Credentials | null;
}

export async function fetchToken(exchanger: Exchanger, endpoint: Endpoint, wanted: TokenRequest): Promise<string> {
  const realm = realmOf(wanted.challenge.realm, endpoint);
  if (wanted.credentials !== null && !mayReceiveLogin(realm.hostname, new URL(endpoint.origin).hostname)) {
    const host = escapeText(realm.host);
    throw unsafe(
      `${endpoint.name} wants your login to be sent to ${host}, another party`,
      `log in to ${host} itself if you trust it, or pull without a login`,
    );
  }
  const answer = await exchanger.send(tokenRequest(realm, endpoint, wanted));
  const { status, headers } = answer;
  // No redirect is followed: it could carry the login elsewhere.
  if (status !== 200) {
    dismiss(answer);
    throw statusFailure(status, {
      host: endpoint.name,
      subject: "a token",
      hadCredentials: wanted.credentials !== null,
      retryAfterMs: retryAfterMs(headers["retry-after"], Date.now()),
    });
  }
  return readToken(exchanger, endpoint, answer);
}

function realmOf(text: string, endpoint: Endpoint): URL {
  if (!URL.canParse(text)) throw nonsense(endpoint.name, "names a token service that is no address");
  const realm = new URL(text);
  checkLedTo(realm, new URL(endpoint.origin), endpoint, "leads its token requests");
  return realm;
}

function tokenRequest(
  realm: URL,
  endpoint: Endpoint,
  { challenge, scope, credentials }: TokenRequest,
): ExchangeRequest {
  const rule = addressRuleFor(realm, endpoint);
  const fields = new URLSearchParams();
  if (challenge.service !== null) fields.set("service", challenge.service);
  fields.set("scope", scope);
  if (credentials?.kind === "identity-token") {
    fields.set("grant_type", "refresh_token");
    fields.set("client_id", "agentkernel");
    fields.set("refresh_token", credentials.token);
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return { method: "POST", url: realm, headers, body: fields.toString(), rule };
  }
  const url = new URL(realm);
  for (const [name, value] of fields) url.searchParams.set(name, value);
  if (credentials !== null) url.searchParams.set("account", credentials.username);
  return { method: "GET", url, headers: credentials === null ? {} : { authorization: basicLogin(credentials) }, rule };
}

export function basicLogin({ username, password }: Extract<Credentials, { kind: "password" }>): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

async function readToken(exchanger: Exchanger, endpoint: Endpoint, { body }: RegistryResponse): Promise<string> {
  const bytes = await exchanger.read(body, MAX_TOKEN_ANSWER_BYTES);
  let value: unknown = null;
  try {
    value = bytes === null ? null : JSON.parse(bytes.toString("utf8"));
  } catch {
    // The parser's message quotes the text, and the text may hold a token.
    throw nonsense(endpoint.name, "gave a token answer that is no JSON");
  }
  const answer: { token?: unknown; access_token?: unknown } = typeof value === "object" && value !== null ? value : {};
  const token = answer.token ?? answer.access_token;
  if (typeof token !== "string" || !TOKEN.test(token)) throw nonsense(endpoint.name, "gave no usable token");
  return token;
}

/** The registry itself, or a host of the same domain: `auth.example.com` for `registry.example.com`. */
export function mayReceiveLogin(realmHost: string, registryHost: string): boolean {
  if (realmHost === registryHost) return true;
  if (/^[\d.]+$|^\[/.test(registryHost)) return false;
  const parent = registryHost.slice(registryHost.indexOf(".") + 1);
  const domain = parent.includes(".") ? parent : registryHost;
  return realmHost === domain || realmHost.endsWith(`.${domain}`);
}
