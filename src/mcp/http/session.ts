/** One client over HTTP: its transport, its connection, and whether anybody still speaks to it. */
import type { Caller } from "../../api/auth/caller.js";
import type { McpConnection } from "../connection.js";
import type { RequestsAtWork } from "../requests-at-work.js";
import type { BoundedTransport } from "./bounded-transport.js";

interface SessionParts {
  readonly caller: Caller;
  readonly transport: BoundedTransport;
  readonly connection: McpConnection;
  readonly atWork: RequestsAtWork;
  /** With no request and no stream open for so long, its client counts as gone. */
  readonly idleMs: number;
}

export class HttpSession {
  readonly parts: SessionParts;
  #open = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(parts: SessionParts) {
    this.parts = parts;
    void parts.connection.over.then(() => clearTimeout(this.#idle));
  }

  /**
   * Whether it is this caller's: somebody of the same name who may do something else began another one. What a session
   * may do is what its first caller could.
   */
  isOf(caller: Caller): boolean {
    return rightsOf(this.parts.caller) === rightsOf(caller);
  }

  /** A request is being answered until `over`. */
  use(over: Promise<unknown>): void {
    const { connection, idleMs } = this.parts;
    this.#open++;
    clearTimeout(this.#idle);
    void over.finally(() => {
      this.#open--;
      if (this.#open > 0) return;
      this.#idle = setTimeout(() => void connection.close(), idleMs);
      this.#idle.unref();
    });
  }
}

function rightsOf({ id, scopes, isTrusted, sandboxes, quotas, ceiling }: Caller): string {
  const { concurrency, requestsPerMinute, cpuSecondsPerHour, sandboxes: most } = quotas;
  const counted = [concurrency, requestsPerMinute, cpuSecondsPerHour, most];
  return JSON.stringify([id, [...scopes].sort(), isTrusted, sandboxes && [...sandboxes].sort(), counted, ceiling]);
}
