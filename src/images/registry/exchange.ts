/**
 * One HTTP request and its answer, without redirects: the address that is dialled is the one that was checked, the
 * answer must begin in time, and its body must keep coming.
 */
import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { trustHeldAuthorities } from "../../core/trust-held-authorities.js";
import { type AddressRule, isAllowedAddress } from "./address-rules.js";
import { ConnectionFaultError } from "./failures.js";
import { noProxy, type ProxyChoice } from "./proxy.js";
import { TunnelAgent } from "./tunnel.js";

export interface Timeouts {
  readonly connectMs: number;
  /** From the request to the head of the answer. */
  readonly answerMs: number;
  /** A body that brings less than `minBytes` in this time has stalled. */
  readonly stallMs: number;
  readonly minBytes: number;
  /** For a whole small answer: a manifest, a token. */
  readonly smallAnswerMs: number;
}

export const defaultTimeouts: Timeouts = {
  connectMs: 10_000,
  answerMs: 30_000,
  stallMs: 30_000,
  minBytes: 1024,
  smallAnswerMs: 60_000,
};

export interface ExchangeRequest {
  readonly method: "GET" | "HEAD" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly rule: AddressRule;
}

interface ExchangerOptions {
  readonly signal?: AbortSignal;
  readonly proxy?: ProxyChoice;
}

export interface RegistryResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly url: URL;
  readonly body: IncomingMessage;
  /** Whom we were connected to; null through a proxy, which alone knows. */
  readonly address: string | null;
}

/** Lets go of an answer that is not read. A short body is let run out, so that the connection can serve again. */
export function dismiss({ headers, body }: RegistryResponse): void {
  body.on("error", () => {});
  if (Number(headers["content-length"] ?? Number.NaN) <= 16_384) body.resume();
  else body.destroy();
}

/** Owns the connections to one registry and to where it leads; ends them with `close`. */
export class Exchanger {
  readonly timeouts: Timeouts;
  readonly #signal: AbortSignal | undefined;
  readonly #http = new HttpAgent({ keepAlive: true });
  readonly #https = new HttpsAgent({ keepAlive: true });
  readonly #tunnels = new Map<string, TunnelAgent>();
  readonly #proxy: ProxyChoice;

  constructor(timeouts: Timeouts, { signal, proxy = noProxy }: ExchangerOptions = {}) {
    trustHeldAuthorities();
    this.timeouts = timeouts;
    this.#signal = signal;
    this.#proxy = proxy;
  }

  send({ method, url, headers, body, rule }: ExchangeRequest): Promise<RegistryResponse> {
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    if (isIP(host) !== 0 && !isAllowedAddress(host, rule)) return Promise.reject(addressRefused(url.hostname, host));
    const secure = url.protocol === "https:";
    const proxy = secure ? this.#proxy(url) : null;
    const options = {
      method,
      headers: { "user-agent": "agentkernel", "accept-encoding": "identity", ...headers },
      agent: proxy === null ? (secure ? this.#https : this.#http) : this.#tunnel(proxy),
      lookup: checkedLookup(rule),
      ...(this.#signal === undefined ? {} : { signal: this.#signal }),
    };
    return new Promise<RegistryResponse>((resolve, reject) => {
      const sent = secure ? httpsRequest(url, options) : httpRequest(url, options);
      const { connectMs, answerMs } = this.timeouts;
      const expire = (message: string) => () => sent.destroy(new ConnectionFaultError("no-answer", message));
      let timer = setTimeout(expire(`cannot be connected to within ${connectMs / 1000} s`), connectMs);
      const connected = (): void => {
        clearTimeout(timer);
        timer = setTimeout(expire(`did not answer within ${answerMs / 1000} s`), answerMs);
      };
      sent.once("socket", (socket) => {
        if (!socket.connecting) connected();
        else socket.once(secure ? "secureConnect" : "connect", connected);
      });
      sent.once("response", (answer) => {
        clearTimeout(timer);
        const address = proxy === null ? (answer.socket.remoteAddress ?? null) : null;
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, url, body: answer, address });
      });
      sent.once("close", () => clearTimeout(timer));
      // A request may fail again after its answer began; the body's reader is told by the body itself.
      sent.on("error", reject);
      sent.end(body);
    });
  }

  #tunnel(proxy: URL): TunnelAgent {
    const known = this.#tunnels.get(proxy.href);
    if (known !== undefined) return known;
    const tunnel = new TunnelAgent(proxy, this.timeouts.connectMs, { keepAlive: true });
    this.#tunnels.set(proxy.href, tunnel);
    return tunnel;
  }

  /** The body's chunks, for as long as it keeps coming. The connection ends with the reader. */
  async *chunks(body: IncomingMessage): AsyncGenerator<Buffer, void, void> {
    const { stallMs, minBytes } = this.timeouts;
    let received = 0;
    // A reader that is slow itself (a full disk queue) is no fault of the sender.
    let waiting = true;
    const timer = setInterval(() => {
      const slow = waiting && received < minBytes;
      received = 0;
      if (slow) body.destroy(new ConnectionFaultError("stalled", `sent next to nothing for ${stallMs / 1000} s`));
    }, stallMs);
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        received += chunk.length;
        waiting = false;
        yield chunk;
        waiting = true;
      }
    } finally {
      clearInterval(timer);
      body.destroy();
    }
  }

  /** The whole of a small body; null where it is larger than allowed. */
  async read(body: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
    const { smallAnswerMs } = this.timeouts;
    const late = new ConnectionFaultError("stalled", `took longer than ${smallAnswerMs / 1000} s for a small answer`);
    const timer = setTimeout(() => body.destroy(late), smallAnswerMs);
    try {
      const parts: Buffer[] = [];
      let length = 0;
      for await (const chunk of this.chunks(body)) {
        length += chunk.length;
        if (length > maxBytes) return null;
        parts.push(chunk);
      }
      return Buffer.concat(parts);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
    for (const tunnel of this.#tunnels.values()) tunnel.destroy();
  }
}

function addressRefused(hostname: string, address: string): ConnectionFaultError {
  const shown = hostname === address || hostname === `[${address}]` ? address : `${hostname} (${address})`;
  return new ConnectionFaultError("address-refused", `the registry leads to ${shown}, an address that is not public`);
}

/** Refuses a name as soon as one of its addresses is not allowed, so that it cannot be picked by chance. */
function checkedLookup(rule: AddressRule): LookupFunction {
  return (hostname, options: LookupOptions, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error !== null) return callback(error, "");
      const bad = addresses.find(({ address }) => !isAllowedAddress(address, rule));
      if (bad !== undefined) return callback(addressRefused(hostname, bad.address), "");
      const [first] = addresses;
      if (options.all === true || first === undefined) return callback(null, addresses);
      callback(null, first.address, first.family);
    });
  };
}
