/**
 * Follows an HTTP/1 connection for as long as it speaks HTTP. Every request must name what was allowed. Answers are
 * followed too, unheld: only they tell whether a request to change protocols was granted, and until then what the
 * client sends next waits.
 */
import type { Buffer } from "node:buffer";
import { type Authority, hostText, type InvalidHost, parseAuthority } from "../host.js";
import type { Allowance } from "../limits.js";
import { type Expectation, whyUnexpected } from "./expectation.js";
import { type AfterHead, HttpFraming } from "./http-framing.js";
import { parseRequestHead, parseResponseHead, type RequestHead } from "./http-head.js";

interface HttpWatchOptions {
  readonly headBytes: number;
  readonly allowance: Allowance;
  readonly expected: Expectation;
  /** The server has sent bytes already, so its answers cannot be told apart. */
  readonly serverSpoke: boolean;
  seen(host: string): void;
}

/** What a granted change of protocols leads to. */
type Change =
  | { readonly kind: "raw" }
  /** Look at the client's bytes anew, as if the connection began here. */
  | { readonly kind: "anew"; readonly expected: Expectation };

interface Pending {
  readonly method: string;
  /** Null: the request asked for no change. */
  readonly change: Change | null;
}

const MAX_UNANSWERED = 256;

export class HttpWatch {
  readonly #options: HttpWatchOptions;
  readonly #requests: HttpFraming;
  readonly #answers: HttpFraming;
  readonly #unanswered: Pending[] = [];
  #answersLost: boolean;
  #granted: Change | null = null;
  #refused = false;

  constructor(options: HttpWatchOptions) {
    this.#options = options;
    this.#answersLost = options.serverSpoke;
    const { headBytes, allowance } = options;
    this.#requests = new HttpFraming({ headBytes, allowance, lines: "crlf", head: (head) => this.#request(head) });
    this.#answers = new HttpFraming({ headBytes, allowance, lines: "any", head: (head) => this.#answer(head) });
  }

  /** An answer of our own would not end up in the middle of one of the server's. */
  get quiet(): boolean {
    return !this.#answersLost && this.#unanswered.length === 0 && this.#answers.between;
  }

  get waiting(): boolean {
    return this.#requests.paused;
  }

  get holding(): boolean {
    return this.#requests.holding;
  }

  /** Set once the server has granted a change; the client's bytes after it are `rest`. */
  takeChange(): { readonly change: Change; readonly rest: Buffer } | null {
    const change = this.#granted;
    if (change === null) return null;
    this.#granted = null;
    return { change, rest: this.#requests.go("raw") };
  }

  release(): void {
    this.#requests.release();
    this.#answers.release();
  }

  push(chunk: Buffer): Buffer[] | string {
    return this.#requests.push(chunk);
  }

  /** Bytes of the server, which have passed. Gives the client's held bytes back where they go on as requests. */
  observe(chunk: Buffer): Buffer | null {
    if (this.#answersLost) return null;
    const wasWaiting = this.waiting;
    const fault = this.#answers.push(chunk);
    if (typeof fault === "string") {
      this.#answersLost = true;
      this.#answers.release();
    }
    return wasWaiting && this.#refused ? this.#resume() : null;
  }

  #resume(): Buffer {
    this.#refused = false;
    return this.#requests.go("head");
  }

  #request(bytes: Buffer): AfterHead | string {
    const head = parseRequestHead(bytes);
    if (typeof head === "string") return head;
    const change = this.#check(head);
    if (typeof change === "string") return change;
    if (this.#unanswered.length >= MAX_UNANSWERED) return "too many requests without an answer";
    this.#unanswered.push({ method: head.method, change });
    if (change === null) return head.body;
    if (this.#answersLost) return "a change of protocols on a connection whose answers cannot be followed";
    return head.body.kind === "none" ? { kind: "pause" } : "a change of protocols with a body";
  }

  /** What the request would change to, null where nothing; a text where it is refused. */
  #check(head: RequestHead): Change | null | string {
    const { expected } = this.#options;
    if (head.host === null && expected.exact) return "a request without a Host";
    const host = head.host === null ? null : parseAuthority(head.host);
    if (host !== null && "kind" in host) return `the Host is not a name: ${host.why}`;
    if (head.host !== null) this.#options.seen(head.host);
    if (head.method === "CONNECT") return this.#connect(head, host);
    const target = targetAuthority(head.target);
    if (target === null) {
      const unexpected = host === null ? null : whyUnexpected(expected, "Host", host.host, expected.port);
      return unexpected ?? this.#changeOf(head);
    }
    if ("kind" in target) return `the request's address is refused: ${target.why}`;
    if (host !== null && !sameHost(target, host)) return "the request's address and its Host differ";
    return this.#judgeProxied(target, 80) ?? this.#changeOf(head);
  }

  #changeOf(head: RequestHead): Change | null | string {
    if (head.upgrade.length === 0) return null;
    // What follows would name a host per request, where it cannot be read.
    if (head.upgrade.includes("h2c")) return "a change to HTTP/2 without TLS";
    const { expected } = this.#options;
    return head.upgrade.some((token) => token.startsWith("tls")) ? { kind: "anew", expected } : { kind: "raw" };
  }

  /** A tunnel through a proxy that is allowed: what is at its other end is held to the same rules. */
  #connect(head: RequestHead, named: Authority | null): Change | string {
    const target = parseAuthority(head.target);
    if ("kind" in target) return `the address to CONNECT to is refused: ${target.why}`;
    if (target.port === null) return "an address to CONNECT to without a port";
    const refused = this.#judgeProxied(target, target.port);
    if (refused !== null) return refused;
    // A peer that is no proxy may go by the Host.
    const { expected } = this.#options;
    const isOther = named !== null && hostText(named.host) !== hostText(target.host);
    const unexpected = isOther ? whyUnexpected(expected, "Host", named.host, expected.port) : null;
    if (unexpected !== null) return unexpected;
    const { host, port } = { host: target.host, port: target.port };
    const exact = expected.exact && host.kind === "name";
    return { kind: "anew", expected: { ...expected, host, port, exact } };
  }

  #judgeProxied(target: Authority, defaultPort: number): string | null {
    const { expected } = this.#options;
    const same = whyUnexpected({ ...expected, exact: true }, "", target.host, expected.port) === null;
    if (same) return whyUnexpected(expected, "the request", target.host, expected.port);
    const verdict = expected.judge(target.host, target.port ?? defaultPort);
    return verdict.allowed ? null : `the request is for another destination: ${verdict.rule}`;
  }

  #answer(bytes: Buffer): AfterHead | string {
    const [pending] = this.#unanswered;
    if (pending === undefined) return "an answer to no request";
    const head = parseResponseHead(bytes, pending.method);
    if (typeof head === "string") return head;
    if (head.status < 200 && head.status !== 101) return { kind: "none" };
    this.#unanswered.shift();
    const granted = head.status === 101 || (pending.method === "CONNECT" && head.status < 300);
    if (granted && pending.change === null) return "a change of protocols that nobody asked for";
    if (granted) {
      this.#granted = pending.change;
      return { kind: "raw" };
    }
    if (pending.change !== null) this.#refused = true;
    return head.body.kind === "rest" ? { kind: "raw" } : head.body;
  }
}

/** Of the absolute form only; null for the others. */
export function targetAuthority(target: string): Authority | InvalidHost | null {
  if (target.startsWith("/") || target === "*") return null;
  const match = /^http:\/\/([^/?#\\]*)(?:[/?].*)?$/i.exec(target);
  return match === null ? { kind: "invalid", why: "it is not an http address" } : parseAuthority(match[1] ?? "");
}

export function sameHost(a: Authority, b: Authority): boolean {
  const text = ({ host }: Authority) => (host.kind === "name" ? host.name : host.address.text);
  return text(a) === text(b) && (a.port ?? 80) === (b.port ?? 80);
}
