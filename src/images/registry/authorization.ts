/** The state of our login with one registry for one repository. Concurrent requests share one token. */
import type { Challenge } from "./challenge.js";
import type { CredentialSource, Credentials } from "./credentials.js";
import type { Endpoint } from "./endpoint.js";
import type { Exchanger } from "./exchange.js";
import { nonsense } from "./failures.js";
import { basicLogin, fetchToken } from "./token.js";

export class Authorization {
  readonly #exchanger: Exchanger;
  readonly #endpoint: Endpoint;
  readonly #scope: string;
  readonly #source: CredentialSource;
  #credentials: Promise<Credentials | null> | null = null;
  #header: string | null = null;
  #renewal: Promise<void> | null = null;
  #hadCredentials = false;

  constructor(exchanger: Exchanger, endpoint: Endpoint, repository: string, source: CredentialSource) {
    this.#exchanger = exchanger;
    this.#endpoint = endpoint;
    this.#scope = `repository:${repository}:pull`;
    this.#source = source;
  }

  get header(): string | null {
    return this.#header;
  }

  get hadCredentials(): boolean {
    return this.#hadCredentials;
  }

  /**
   * Answers a challenge that a request with `usedHeader` got. False where nothing better can be offered.
   * A request that was sent before another one renewed the token only needs to be sent again.
   */
  async answer(challenge: Challenge, usedHeader: string | null): Promise<boolean> {
    if (this.#header !== usedHeader) return true;
    this.#renewal ??= this.#renew(challenge).finally(() => {
      this.#renewal = null;
    });
    await this.#renewal;
    return this.#header !== usedHeader;
  }

  async #renew(challenge: Challenge): Promise<void> {
    this.#credentials ??= this.#source(this.#endpoint.name);
    const credentials = await this.#credentials;
    this.#hadCredentials = credentials !== null;
    if (challenge.scheme === "bearer") {
      // Our own scope: the challenge may name a wider one, and we only ever read this repository.
      const wanted = { challenge, scope: this.#scope, credentials };
      this.#header = `Bearer ${await fetchToken(this.#exchanger, this.#endpoint, wanted)}`;
    } else if (credentials?.kind === "password") {
      this.#header = basicLogin(credentials);
    } else if (credentials !== null) {
      throw nonsense(this.#endpoint.name, "wants a password, and the stored login is a token");
    }
  }
}
