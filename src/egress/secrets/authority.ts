/**
 * The certificate authority of one sandbox. Its key is made here, stays in this process's memory, is never given out,
 * and signs for the hosts that secrets are bound to and for no others; its certificate says so too.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { authorityCertificate, type Issuer, type KeyPair, serverCertificate } from "./certificate.js";

const HOUR_MS = 3_600_000;
/** Longer than a sandbox is kept; its certificate is put into the sandbox once. */
const AUTHORITY_MS = 30 * 24 * HOUR_MS;
const SERVER_MS = 24 * HOUR_MS;
/** A certificate is made anew in time before its end. */
const RENEW_MS = 12 * HOUR_MS;
/** The clock of a sandbox with its own kernel may lag. */
const SLACK_MS = HOUR_MS;

interface Kept {
  readonly context: SecureContext;
  readonly renewAtMs: number;
}

export class Authority {
  /** The certificate that the sandbox has to trust. */
  readonly certificatePem: string;
  readonly #issuer: Issuer;
  readonly #hosts: ReadonlySet<string>;
  readonly #kept = new Map<string, Kept>();
  readonly #now: () => number;

  constructor(hosts: readonly string[], now: () => number = Date.now) {
    if (hosts.length === 0) throw new TypeError("an authority for no host would be one for all");
    this.#now = now;
    this.#hosts = new Set(hosts);
    // The random part keeps two sandboxes' authorities apart in a store that goes by names.
    this.#issuer = { name: `agentkernel sandbox ${randomBytes(8).toString("hex")}`, keys: newKeys() };
    this.certificatePem = authorityCertificate(this.#issuer, [...this.#hosts], this.#validity(AUTHORITY_MS));
  }

  /** For a server that speaks in the host's name. */
  contextFor(host: string): SecureContext {
    if (!this.#hosts.has(host)) throw new TypeError("no secret is bound to this host");
    const kept = this.#kept.get(host);
    if (kept !== undefined && this.#now() < kept.renewAtMs) return kept.context;
    const keys = newKeys();
    const context = createSecureContext({
      cert: serverCertificate(this.#issuer, host, keys, this.#validity(SERVER_MS)),
      key: keys.privateKey.export({ type: "pkcs8", format: "pem" }),
      minVersion: "TLSv1.2",
    });
    this.#kept.set(host, { context, renewAtMs: this.#now() + SERVER_MS - RENEW_MS });
    return context;
  }

  #validity(lastsMs: number) {
    const now = this.#now();
    return { from: new Date(now - SLACK_MS), until: new Date(now + lastsMs) };
  }
}

function newKeys(): KeyPair {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}
