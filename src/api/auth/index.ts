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
import { isLoopback, peerUser } from "./tcp-peer.js";

export interface AuthOptions {
  readonly keys: KeyStore;
  /** Null where no tokens of others are taken. */
  readonly jwt: JwtVerifier | null;
  /** Of this process. */
  readonly uid: number;
}

const forwarded = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

export class Authenticator {
  readonly #options: AuthOptions;
  /** The kernel is asked once a connection. */
  readonly #peers = new WeakMap<object, Promise<boolean>>();

  constructor(options: AuthOptions) {
    this.#options = options;
  }

  /** Who asks. Rejects with `unauthorized` where nobody that is known does, and with `forbidden` for pages of others. */
  async callerOf(request: IncomingMessage, door: Door): Promise<Caller> {
    refuseForeignPages(request.headers, door, request.socket.localAddress);
    const { authorization } = request.headers;
    if (authorization !== undefined) return await this.#bearer(authorization);
    if (door.kind === "unix") return localUser;
    // A proxy of the user's own would lend its rights to everybody whom it passes on.
    if (forwarded.some((name) => request.headers[name] !== undefined))
      throw unauthorized("a key is needed: a proxy asks");
    if (await this.#isSameUser(request)) return localUser;
    throw unauthorized("a key is needed");
  }

  /** Whether somebody who was let in would be again. */
  isValid({ id, validUntilMs }: Caller): boolean {
    if (id.startsWith(KEY)) return this.#options.keys.isValid(id.slice(KEY.length));
    return validUntilMs === undefined || validUntilMs > Date.now();
  }

  async #bearer(authorization: string): Promise<Caller> {
    const token = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw unauthorized("the Authorization header is not of the form Bearer KEY");
    const record = this.#options.keys.find(token);
    if (record !== null) return callerOfKey(record);
    const caller = token.split(".").length === 3 ? await this.#options.jwt?.verify(token) : null;
    if (caller) return caller;
    throw unauthorized("the key is not valid");
  }

  #isSameUser({ socket }: IncomingMessage): Promise<boolean> {
    const known = this.#peers.get(socket) ?? this.#askKernel(socket);
    this.#peers.set(socket, known);
    return known;
  }

  async #askKernel(socket: Socket): Promise<boolean> {
    if (!isLoopback(socket.localAddress) || !isLoopback(socket.remoteAddress)) return false;
    return (await peerUser(socket)) === this.#options.uid;
  }
}

const KEY = "key:";

function callerOfKey({ id, scopes, sandboxes, quotas }: KeyRecord): Caller {
  return {
    id: `${KEY}${id}`,
    scopes,
    isTrusted: scopes.includes("admin"),
    sandboxes,
    quotas: { ...noQuotas, ...quotas },
  };
}

function unauthorized(why: string): AgentKernelError {
  return new AgentKernelError("unauthorized", why, {
    hint: "send the header Authorization with Bearer KEY and a key of agentkernel keys create, or ask as the same user on the same machine",
  });
}
