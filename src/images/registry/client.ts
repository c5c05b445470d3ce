/**
 * Reads one repository of one registry over the OCI distribution protocol. It checks what it can check alone (sizes,
 * digests of manifests); whoever takes a blob's bytes checks them. It never writes to a registry, and never sends a
 * login anywhere but to that registry and its token service.
 */
import { AgentKernelError } from "../../core/errors.js";
import { type Digest, digestOf, isDigest, shortDigest } from "../digest.js";
import { manifestMediaTypes } from "../media-types.js";
import { isPrivateAddress } from "./address-rules.js";
import { Authorization } from "./authorization.js";
import { type BlobSink, receiveBlob } from "./blob-download.js";
import { parseChallenge } from "./challenge.js";
import { type CredentialSource, noCredentials } from "./credentials.js";
import { addressRuleFor, type Endpoint } from "./endpoint.js";
import { defaultTimeouts, dismiss, Exchanger, type RegistryResponse, type Timeouts } from "./exchange.js";
import { connectionFailure, isConnectionError, isNotTls, statusFailure } from "./failures.js";
import type { ProxyChoice } from "./proxy.js";
import { sendFollowing } from "./redirects.js";
import { defaultRetryRules, type RetryRules, retryAfterMs, withRetries } from "./retry.js";

const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;

export interface ClientOptions {
  readonly credentials?: CredentialSource;
  readonly signal?: AbortSignal;
  readonly timeouts?: Partial<Timeouts>;
  readonly retry?: Partial<RetryRules>;
  readonly proxy?: ProxyChoice;
  /** A registry on a private network may lead to other hosts of private networks: its blobs, its token service. */
  readonly privateRedirects?: boolean;
}

interface FetchedManifest {
  readonly bytes: Buffer;
  readonly mediaType: string;
  readonly digest: Digest;
}

interface Wanted {
  readonly method: "GET" | "HEAD";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly subject: string;
}

export class RegistryClient {
  #endpoint: Endpoint;
  readonly #repository: string;
  readonly #signal: AbortSignal | undefined;
  readonly #retry: RetryRules;
  readonly #exchanger: Exchanger;
  #authorization: Authorization;
  readonly #source: CredentialSource;
  readonly #privateRedirects: boolean;
  #settled: Promise<void> | null = null;

  constructor(endpoint: Endpoint, repository: string, options: ClientOptions = {}) {
    this.#endpoint = endpoint;
    this.#repository = repository;
    this.#signal = options.signal;
    this.#retry = { ...defaultRetryRules, ...options.retry };
    this.#privateRedirects = options.privateRedirects === true;
    this.#exchanger = new Exchanger(
      { ...defaultTimeouts, ...options.timeouts },
      {
        ...(options.signal === undefined ? {} : { signal: options.signal }),
        ...(options.proxy === undefined ? {} : { proxy: options.proxy }),
      },
    );
    this.#source = options.credentials ?? noCredentials;
    this.#authorization = new Authorization(this.#exchanger, endpoint, repository, this.#source);
  }

  get host(): string {
    return this.#endpoint.name;
  }

  /** What a tag points to now, as far as the registry says; null where it does not say. Nothing may rest on it. */
  headManifest(reference: string): Promise<Digest | null> {
    return withRetries(this.#retry, this.#signal, async () => {
      const answer = await this.#request(this.#manifest("HEAD", reference));
      // It has no body, whatever length it states.
      answer.body.resume();
      const claimed = answer.headers["docker-content-digest"];
      return isDigest(claimed) ? claimed : null;
    });
  }

  /** By tag or digest. The digest is that of the bytes, and the one that was asked for. */
  getManifest(reference: string): Promise<FetchedManifest> {
    return withRetries(this.#retry, this.#signal, async () => {
      const { headers, body } = await this.#request(this.#manifest("GET", reference));
      const bytes = await this.#connected(() => this.#exchanger.read(body, MAX_MANIFEST_BYTES));
      if (bytes === null) {
        throw new AgentKernelError("image_invalid", `${this.host} sent a manifest of more than 4 MiB`);
      }
      const digest = digestOf(bytes);
      const claimed = isDigest(reference) ? reference : headers["docker-content-digest"];
      if (isDigest(claimed) && claimed !== digest) {
        throw new AgentKernelError(
          "digest_mismatch",
          `${this.host} sent a manifest that is ${shortDigest(digest)}… and not ${shortDigest(claimed)}…`,
          { hint: "the registry or something in between changed it; nothing of it was used" },
        );
      }
      return { bytes, mediaType: headers["content-type"]?.split(";")[0]?.trim() ?? "", digest };
    });
  }

  /** Writes a blob's bytes into the sink, from where the sink already is to the end. Resumes what breaks off. */
  fetchBlob(digest: Digest, sizeBytes: number, sink: BlobSink): Promise<void> {
    return withRetries(this.#retry, this.#signal, async (attempts) => {
      const from = sink.offset;
      const headers: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
      const subject = `blob ${shortDigest(digest)}… of ${this.#repository}`;
      const wanted: Wanted = { method: "GET", path: `blobs/${digest}`, headers, subject };
      const answer = await this.#request(wanted, [200, 206, 416]);
      await this.#connected(() =>
        receiveBlob({ host: this.host, digest, sizeBytes, sink, answer, attempts, exchanger: this.#exchanger }),
      );
    });
  }

  close(): void {
    this.#exchanger.close();
  }

  #manifest(method: "GET" | "HEAD", reference: string): Wanted {
    const separator = isDigest(reference) ? "@" : ":";
    return {
      method,
      path: `manifests/${reference}`,
      headers: { accept: manifestMediaTypes.join(", ") },
      subject: `image ${this.#repository}${separator}${reference}`,
    };
  }

  /** An answer with one of the statuses that are expected; any other is a failure. */
  async #request(wanted: Wanted, expected: readonly number[] = [200]): Promise<RegistryResponse> {
    await this.#connected(() => this.#endpointSettled());
    for (let challenges = 0; ; challenges += 1) {
      const authorization = this.#authorization.header;
      const url = new URL(`/v2/${this.#repository}/${wanted.path}`, this.#endpoint.origin);
      const { method, headers } = wanted;
      const answer = await this.#connected(() =>
        sendFollowing(this.#exchanger, this.#endpoint, { method, url, headers, authorization }),
      );
      if (expected.includes(answer.status)) return answer;
      dismiss(answer);
      // Only the registry itself may ask for a login.
      const own = answer.url.origin === this.#endpoint.origin;
      const challenge = own && answer.status === 401 ? parseChallenge(answer.headers["www-authenticate"]) : null;
      if (challenge !== null && challenges < 2) {
        if (await this.#connected(() => this.#authorization.answer(challenge, authorization))) continue;
      }
      throw statusFailure(answer.status, {
        host: this.host,
        subject: wanted.subject,
        hadCredentials: this.#authorization.hadCredentials,
        retryAfterMs: retryAfterMs(answer.headers["retry-after"], Date.now()),
      });
    }
  }

  #endpointSettled(): Promise<void> {
    this.#settled ??= this.#settleEndpoint().finally(() => {
      this.#settled = null;
    });
    return this.#settled;
  }

  async #settleEndpoint(): Promise<void> {
    await this.#settleScheme();
    if (!this.#privateRedirects || this.#endpoint.mayLeadToPrivate !== undefined) return;
    const url = new URL("/v2/", this.#endpoint.origin);
    const rule = addressRuleFor(url, this.#endpoint);
    const answer = await this.#exchanger.send({ method: "GET", url, headers: {}, rule });
    dismiss(answer);
    this.#become({ mayLeadToPrivate: answer.address !== null && isPrivateAddress(answer.address) });
  }

  #become(change: Partial<Endpoint>): void {
    this.#endpoint = { ...this.#endpoint, ...change };
    this.#authorization = new Authorization(this.#exchanger, this.#endpoint, this.#repository, this.#source);
  }

  /** A registry on loopback may speak TLS or not. A certificate that is not valid is never a reason to go without. */
  async #settleScheme(): Promise<void> {
    if (!this.#endpoint.schemeOpen) return;
    const { host } = new URL(this.#endpoint.origin);
    try {
      const url = new URL("/v2/", this.#endpoint.origin);
      const answer = await this.#exchanger.send({ method: "GET", url, headers: {}, rule: "here" });
      dismiss(answer);
      this.#become({ schemeOpen: false });
    } catch (error) {
      if (!isNotTls(error)) throw error;
      this.#become({ origin: `http://${host}`, schemeOpen: false });
    }
  }

  /** Gives what breaks while a connection is used its own words. */
  async #connected<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#signal?.throwIfAborted();
      if (!isConnectionError(error)) throw error;
      throw connectionFailure(this.host, error);
    }
  }
}
