/**
 * A small internet on loopback for the gateway's tests. Addresses in it are mere values: the dialler given to the
 * gateway looks them up here and connects to a loopback server instead, so nothing is ever sent to a real address.
 */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { OutgoingRefusal, OutgoingTarget } from "../../core/egress.js";
import type { NetworkRules } from "../../core/policy.js";
import type { EgressDecision } from "../decision.js";
import { type Dial, dialTcp } from "../dial.js";
import { createGateway, type Gateway, type GatewayOptions } from "../gateway.js";

export const PUBLIC = "93.184.216.34";
export const PUBLIC_6 = "2606:2800:220:1:248:1893:25c8:1946";

export const allowlist = (...allow: NetworkRules["allow"]): NetworkRules => ({
  egress: "allowlist",
  allow,
  deny: [],
});
export const everything: NetworkRules = { egress: "on", allow: [], deny: [] };
export const nothing: NetworkRules = { egress: "off", allow: [], deny: [] };

export class World {
  readonly names = new Map<string, readonly string[]>();
  readonly resolved: string[] = [];
  readonly dialled: string[] = [];
  readonly decisions: EgressDecision[] = [];
  readonly #ports = new Map<string, number>();
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #gateways: Gateway[] = [];
  #decided: (() => void)[] = [];

  /** Addresses at which a dial hangs until it is given up. */
  readonly silent = new Set<string>();

  readonly dial: Dial = ({ address, port, signal }) => {
    this.dialled.push(`${address} ${port}`);
    if (this.silent.has(address)) {
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    }
    const there = this.#ports.get(`${address} ${port}`);
    if (there === undefined) return Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
    return dialTcp({ address: "127.0.0.1", family: 4, port: there, signal });
  };

  /** Keeps a decision, and wakes those who wait for one. */
  readonly note = (decision: EgressDecision): void => {
    this.decisions.push(decision);
    const waiting = this.#decided;
    this.#decided = [];
    for (const wake of waiting) wake();
  };

  readonly resolve = async (name: string) => {
    this.resolved.push(name);
    return { addresses: this.names.get(name) ?? [], ttlMs: 0 };
  };

  async serve(address: string, port: number, handler: (socket: Socket) => void): Promise<void> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      this.#track(socket);
      socket.on("error", () => socket.destroy());
      handler(socket);
    });
    await this.adopt(address, port, server);
  }

  /** Any server that is not listening yet. */
  async adopt(address: string, port: number, server: Server): Promise<void> {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    server.on("connection", (socket) => this.#track(socket));
    this.#servers.push(server);
    this.#ports.set(`${address} ${port}`, portOf(server));
  }

  gateway(policy: NetworkRules | (() => NetworkRules), extra: Partial<GatewayOptions> = {}): Gateway {
    const gateway = createGateway({
      sandbox: "test",
      policy: typeof policy === "function" ? policy : () => policy,
      dial: this.dial,
      resolve: this.resolve,
      hostAddresses: () => ["127.0.0.1", "::1", "192.0.2.7", "5.5.5.5"],
      onDecision: this.note,
      ...extra,
    });
    this.#gateways.push(gateway);
    return gateway;
  }

  /** The first decision of this kind, now or when it comes. */
  async decision(wanted: (decision: EgressDecision) => boolean): Promise<EgressDecision> {
    for (;;) {
      const found = this.decisions.find(wanted);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#decided.push(resolve));
    }
  }

  /** Two ends of one connection, both allowing half-closed states. */
  async pair(): Promise<{ readonly inside: Socket; readonly outside: Socket }> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const accepted: Promise<Socket[]> = once(server, "connection");
    const inside = connect({ port: portOf(server), host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    const [[outside]] = await Promise.all([accepted, once(inside, "connect")]);
    server.close();
    if (outside === undefined) throw new Error("no connection");
    inside.on("error", () => inside.destroy());
    this.#track(inside);
    this.#track(outside);
    return { inside, outside };
  }

  /** A client's end of a connection that the gateway took, or the refusal. */
  async open(gateway: Gateway, target: OutgoingTarget): Promise<Socket | OutgoingRefusal> {
    const { inside, outside } = await this.pair();
    const refused = await gateway.connect(target, outside);
    return refused ?? inside;
  }

  async client(gateway: Gateway, target: OutgoingTarget): Promise<Socket> {
    const result = await this.open(gateway, target);
    if ("code" in result) throw new Error(`refused: ${result.message}`);
    return result;
  }

  async refusal(gateway: Gateway, target: OutgoingTarget): Promise<OutgoingRefusal> {
    const result = await this.open(gateway, target);
    if (!("code" in result)) throw new Error("it was let through");
    return result;
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  async end(): Promise<void> {
    for (const gateway of this.#gateways) gateway.close();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

export function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Everything that comes until the other side ends or the connection is gone. */
export async function readAll(stream: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  await new Promise<void>((resolve) => {
    stream.once("end", resolve);
    stream.once("close", resolve);
    stream.once("error", () => resolve());
    if (stream.readableEnded || stream.closed) resolve();
  });
  return Buffer.concat(chunks).toString("latin1");
}

/** Resolves with what has come once it holds the text. */
export function readUntilText(stream: Duplex, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let all = "";
    const read = (chunk: Buffer) => {
      all += chunk.toString("latin1");
      if (!all.includes(text)) return;
      stream.off("data", read);
      stream.off("close", gone);
      resolve(all);
    };
    const gone = () => reject(new Error(`ended without ${JSON.stringify(text)}: ${JSON.stringify(all)}`));
    stream.on("data", read);
    stream.once("close", gone);
  });
}
