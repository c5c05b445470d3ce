/** Another API on the same port: handed in when the server is composed, since it is built on what is here. */

import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Door } from "./auth/browsers.js";
import type { Caller } from "./auth/caller.js";
import type { Authenticator } from "./auth/index.js";
import type { Backing } from "./call.js";
import type { Exchange } from "./http/exchange.js";
import type { Scope } from "./operations/operation.js";

export interface DialectHost {
  readonly auth: Authenticator;
  readonly backing: Backing;
  readonly maxBodyBytes: number;
  /** Rejects a caller without any of the scopes, or with too many requests. */
  readonly admit: (caller: Caller, scopes: readonly Scope[]) => void;
  /** Cuts the exchange off when the caller's key ends. */
  readonly watchOver: (exchange: Exchange, caller: Caller) => void;
  /** A fault of our own, for the server's log. */
  readonly onFault: (error: unknown, requestId: string) => void;
}

export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

export interface Dialect {
  /** For logs and figures. */
  readonly name: "e2b" | "published";
  /** Whether the request is one of this dialect. Nothing in it has been checked yet. */
  claims(request: IncomingMessage, door: Door): boolean;
  /** Resolves when the response is over. It answers errors itself, in its own form. */
  serve(exchange: Exchange, door: Door, host: DialectHost): Promise<void>;
  /** Never rejects. */
  upgrade(upgrade: Upgrade, door: Door, host: DialectHost): Promise<void>;
  close(): Promise<void>;
}
