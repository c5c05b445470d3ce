/**
 * src/api/auth owns the question who asks. It answers with a `Caller`, or refuses; what a caller may do with which
 * sandbox is for those who serve the request. It never says which part of a key or token was wrong.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { AgentKernelError } from "../../core/errors.js";
import { type Door, refuseForeignPages } from "./browsers.js";
import { type Caller, localUser, noQuotas } from "./caller.js";
import type { JwtVerifier } from "./jwt.js";
import type { KeyRecord, KeyStore } from "./key-store.js";
import type { LocalToken } from "./local-token.js";
import { isGateway, isLoopback } from "./tcp-peer.js";

interface AuthOptions {
  readonly keys: KeyStore;
  /** Null where no tokens of others are taken. */
  readonly jwt: JwtVerifier | null;
  /** What stands for the user over loopback; null where nothing listens on TCP. */
  readonly localToken: () => LocalToken | null;
}

export class Authenticator {
  readonly #options: AuthOptions;
  /** Looked up once per connection. */
  readonly #gateways = new WeakMap<object, Promise<boolean>>();

  constructor(options: AuthOptions) {
    this.#options = options;
  }

  /** Who asks. Rejects with `unauthorized` where nobody that is known does, and with `forbidden` for pages of others. */
  async callerOf(request: IncomingMessage, door: Door): Promise<Caller> {
    await this.refuseStrangers(request, door);
    const { authorization } = request.headers;
    if (authorization !== undefined) return await this.#bearer(authorization, request.socket);
    if (door.kind === "unix") return localUser;
    // An address proves nothing: proxies and forwarders of the user's connect from loopback, too.
    throw unauthorized("a key is needed");
  }

  /** The same for a key that a client of another dialect sends in a header of its own. */
  async callerOfKey(key: string, request: IncomingMessage, door: Door): Promise<Caller> {
    await this.refuseStrangers(request, door);
    return await this.#callerOf(key, request.socket);
  }

  /** The owner of a sandbox, for a request with a token of that sandbox. Null where the owner's key is not valid now. */
  callerOfOwner(owner: string | null): Caller | null {
    if (owner === null) return localUser;
    if (owner.startsWith(KEY)) {
      const record = this.#options.keys.get(owner.slice(KEY.length));
      return record === null ? null : callerOfKey(record);
    }
    return {
      id: owner,
      scopes: ["run", "sandboxes"],
      isTrusted: false,
      sandboxes: null,
      quotas: noQuotas,
      ceiling: null,
    };
  }

  /** Rejects requests from inside a sandbox, and from pages of other sites, whatever key they bring. */
  async refuseStrangers(request: IncomingMessage, door: Door): Promise<void> {
    if (door.kind === "tcp") await this.#refuseGateways(request);
    refuseForeignPages(request.headers, door, request.socket.localAddress);
  }

  /** Whether somebody who was let in would be again. */
  isValid({ id, validUntilMs }: Caller): boolean {
    if (id.startsWith(KEY)) return this.#options.keys.isValid(id.slice(KEY.length));
    return validUntilMs === undefined || validUntilMs > Date.now();
  }

  async #bearer(authorization: string, socket: Socket): Promise<Caller> {
    const token = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw unauthorized("the Authorization header is not of the form Bearer KEY");
    return await this.#callerOf(token, socket);
  }

  async #callerOf(token: string, socket: Socket): Promise<Caller> {
    const record = this.#options.keys.find(token);
    if (record !== null) return callerOfKey(record);
    const isLocal = isLoopback(socket.localAddress) && isLoopback(socket.remoteAddress);
    if (isLocal && this.#options.localToken()?.is(token) === true) return localUser;
    const caller = token.split(".").length === 3 ? await this.#options.jwt?.verify(token) : null;
    if (caller) return caller;
    throw unauthorized("the key is not valid");
  }

  /** Whatever key it brings: code in a sandbox never speaks to this interface. */
  async #refuseGateways({ socket }: IncomingMessage): Promise<void> {
    const known = this.#gateways.get(socket) ?? isGateway(socket);
    this.#gateways.set(socket, known);
    if (!(await known)) return;
    throw new AgentKernelError("forbidden", "sandboxes may not use the interface that runs them", {
      hint: "ask from outside of the sandbox",
    });
  }
}

const KEY = "key:";

function callerOfKey({ id, scopes, sandboxes, quotas, ceiling }: KeyRecord): Caller {
  return {
    id: `${KEY}${id}`,
    scopes,
    isTrusted: scopes.includes("admin"),
    sandboxes,
    quotas: { ...noQuotas, ...quotas },
    ceiling: scopes.includes("admin") ? null : ceiling,
  };
}

function unauthorized(why: string): AgentKernelError {
  return new AgentKernelError("unauthorized", why, {
    hint: "send the header Authorization with Bearer KEY and a key of agentkernel keys create; on this machine what agentkernel keys token prints is one too, and the daemon's Unix socket needs none",
  });
}
