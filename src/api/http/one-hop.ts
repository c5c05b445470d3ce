/** What passes on a request to a server inside a sandbox: the headers of one hop stay behind, and a connection serves one request. */
import { Agent } from "node:http";
import type { Duplex } from "node:stream";

/** RFC 9110, 7.6.1: these speak of one connection. */
export const ofOneHop = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** Names and values in turn. Also without those that the header Connection names. */
export function passed(raw: readonly string[], without: ReadonlySet<string>): string[] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? "", raw[at + 1] ?? ""]);
  const named = pairs.filter(([name]) => name.toLowerCase() === "connection").flatMap(([, value]) => value.split(","));
  const left = new Set([...without, ...named.map((name) => name.trim().toLowerCase())]);
  return pairs.filter(([name]) => !left.has(name.toLowerCase())).flat();
}

export class OneConnection extends Agent {
  readonly #socket: Duplex;

  constructor(socket: Duplex) {
    super({ keepAlive: false, maxSockets: 1 });
    this.#socket = socket;
  }

  override createConnection(): Duplex {
    return this.#socket;
  }
}
