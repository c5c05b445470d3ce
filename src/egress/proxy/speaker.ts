/**
 * A stream whose client was told to use a proxy. Which language it speaks is told by its first byte: SOCKS 5 has its
 * version there, everything else is HTTP.
 */
import type { Duplex } from "node:stream";
import { readExactly } from "../byte-reader.js";
import type { ProxyContext } from "./context.js";
import { HttpProxy } from "./http-proxy.js";
import { serveSocks } from "./socks5.js";

export class ProxySpeaker {
  readonly #home: ProxyContext;
  readonly #http: HttpProxy;

  constructor(context: ProxyContext) {
    this.#home = context;
    this.#http = new HttpProxy(context);
  }

  serve(stream: Duplex): void {
    const greeting = new AbortController();
    const late = () => {
      greeting.abort(new Error("the client's greeting took too long"));
      stream.destroy();
    };
    const timer = setTimeout(late, this.#home.limits.handshakeMs);
    stream.once("close", () => clearTimeout(timer));
    const begin = async () => {
      const first = await readExactly(stream, 1, greeting.signal);
      stream.unshift(first);
      if (first[0] === 5) await serveSocks(stream, this.#home, greeting.signal, () => clearTimeout(timer));
      else {
        clearTimeout(timer);
        this.#http.serve(stream);
      }
    };
    // A client that goes away or says nothing in time has nobody left to tell.
    begin().catch(() => stream.destroy());
  }
}
