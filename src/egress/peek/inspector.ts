/**
 * Looks at what a client sends before it goes on to the server, and says when there is nothing more to look at. It
 * moves no bytes itself: it is given them and gives back those that may pass.
 */
import type { Buffer } from "node:buffer";
import type { Allowance } from "../limits.js";
import type { ClientHello } from "./client-hello.js";
import { type Expectation, type PeekRefusal, whyUnexpectedName } from "./expectation.js";
import { FirstBytes } from "./first-bytes.js";
import { HeldBytes } from "./held-bytes.js";
import { HttpWatch } from "./http-watch.js";
import { TlsWatch } from "./tls-watch.js";

interface InspectorOptions {
  readonly expected: Expectation;
  readonly headBytes: number;
  readonly helloBytes: number;
  readonly allowance: Allowance;
  seen(kind: "sni" | "host", name: string): void;
}

export type Passed = readonly Buffer[] | PeekRefusal;

const none: readonly Buffer[] = [];

export const isPeekRefusal = (passed: Passed): passed is PeekRefusal => "reason" in passed;

/** Somebody who sees what a client sends before it goes on. */
export type Watcher = Pick<
  Inspector,
  "settled" | "waiting" | "holding" | "answerable" | "protocol" | "push" | "end" | "observe" | "release"
>;

export class Inspector {
  readonly #options: InspectorOptions;
  readonly #first: HeldBytes;
  #begin = new FirstBytes();
  #expected: Expectation;
  #tls: TlsWatch | null = null;
  #http: HttpWatch | null = null;
  #settled = false;
  #serverSpoke = false;

  constructor(options: InspectorOptions) {
    this.#options = options;
    this.#expected = options.expected;
    this.#first = new HeldBytes(options.allowance);
  }

  /** Nothing further is looked at, in either direction. */
  get settled(): boolean {
    return this.#settled;
  }

  /** The client's next bytes wait for the server's answer. */
  get waiting(): boolean {
    return this.#http?.waiting ?? false;
  }

  /** Something has begun and must be finished in time. */
  get holding(): boolean {
    if (this.#settled) return false;
    return this.#tls?.holding ?? this.#http?.holding ?? this.#first.length > 0;
  }

  /** The client would understand an answer of ours in plain HTTP. */
  get answerable(): boolean {
    return this.#http?.quiet ?? !this.#serverSpoke;
  }

  /** What the client seems to speak so far. */
  get protocol(): PeekRefusal["protocol"] {
    return this.#tls === null ? "http" : "tls";
  }

  push(chunk: Buffer): Passed {
    if (this.#settled) return [chunk];
    if (this.#tls !== null) return this.#pushTls(this.#tls, chunk);
    if (this.#http !== null) return this.#pushHttp(this.#http, chunk);
    return this.#pushFirst(chunk);
  }

  /** The client sends no more: what had begun stays unfinished. */
  end(): Passed {
    if (!this.holding || this.waiting) return none;
    if (this.#tls !== null) return this.#refuse("tls", "an unfinished ClientHello");
    if (this.#http !== null) return this.#refuse("http", "an unfinished request");
    // Without the end of a first line it was no request to anybody.
    return this.#settle();
  }

  /** The server's bytes, which pass in any case. Gives what of the client's may go on because of them. */
  observe(chunk: Buffer): Passed {
    this.#serverSpoke = true;
    const http = this.#http;
    if (this.#settled || http === null) return none;
    const again = http.observe(chunk);
    const changed = http.takeChange();
    if (changed !== null) {
      http.release();
      this.#http = null;
      this.#serverSpoke = false;
      if (changed.change.kind === "anew") this.#expected = changed.change.expected;
      else this.#settled = true;
      return changed.rest.length === 0 ? none : this.push(changed.rest);
    }
    return again === null || again.length === 0 ? none : this.#pushHttp(http, again);
  }

  release(): void {
    this.#first.take();
    this.#tls?.release();
    this.#http?.release();
  }

  #pushFirst(chunk: Buffer): Passed {
    if (!this.#first.append(chunk)) return this.#refuse("other", "too many unfinished requests");
    const protocol = this.#begin.protocol(this.#first.bytes, this.#serverSpoke);
    if (protocol === "undecided") {
      return this.#first.length > this.#options.headBytes ? this.#refuse("http", "too large a head") : none;
    }
    // A hello of SSL 2 has no records, and names no server.
    const isSsl2 = protocol === "tls" && (this.#first.bytes[0] ?? 0) >= 0x80;
    const nameless = isSsl2 ? this.#checkNameless() : null;
    if (nameless !== null) return this.#refuse("tls", nameless);
    if (protocol === "proxy")
      return this.#refuse("other", "a PROXY protocol header, behind which any host can be named");
    if (protocol === "socks" && this.#expected.exact)
      return this.#refuse("other", "SOCKS, which leads on to another host");
    if (protocol === "other" || protocol === "socks" || isSsl2) return this.#settle();
    this.#begin = new FirstBytes();
    const bytes = this.#first.take();
    const { headBytes, helloBytes, allowance } = this.#options;
    if (protocol === "tls") {
      this.#tls = new TlsWatch({ helloBytes, allowance, check: (hello) => this.#checkHello(hello) });
      return this.#pushTls(this.#tls, bytes);
    }
    this.#http = new HttpWatch({
      headBytes,
      allowance,
      expected: this.#expected,
      serverSpoke: this.#serverSpoke,
      seen: (host) => this.#options.seen("host", host),
    });
    return this.#pushHttp(this.#http, bytes);
  }

  #pushTls(tls: TlsWatch, chunk: Buffer): Passed {
    const passed = tls.push(chunk);
    if (typeof passed === "string") return this.#refuse("tls", passed);
    if (tls.settled) this.#settled = true;
    return passed.length === 0 ? none : [passed];
  }

  #pushHttp(http: HttpWatch, chunk: Buffer): Passed {
    const passed = http.push(chunk);
    return typeof passed === "string" ? this.#refuse("http", passed) : passed;
  }

  #checkHello(hello: ClientHello): string | null {
    if (hello.serverName === null) return this.#checkNameless();
    this.#options.seen("sni", hello.serverName);
    const why = whyUnexpectedName(this.#expected, "SNI", hello.serverName, this.#expected.port);
    if (why !== null) return why;
    return hello.encrypted && this.#expected.exact ? "an encrypted ClientHello, which may name another server" : null;
  }

  #checkNameless(): string | null {
    return this.#expected.exact ? "a ClientHello without a server name" : null;
  }

  #settle(): Passed {
    this.#settled = true;
    const bytes = this.#first.take();
    return bytes.length === 0 ? none : [bytes];
  }

  #refuse(protocol: PeekRefusal["protocol"], reason: string): PeekRefusal {
    return { protocol, reason };
  }
}
