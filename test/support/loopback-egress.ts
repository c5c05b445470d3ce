/**
 * A gateway for tests that decides nothing: it knows the names that the test gives it, and leads every destination to
 * a server of the test's on loopback. What it was asked is kept.
 */
import { connect } from "node:net";
import { type Duplex, finished } from "node:stream";
import type { EgressPort, NameFamilies, OutgoingRefusal, OutgoingTarget } from "../../src/core/egress.js";
import { ReadPool, readPooled } from "../../src/core/pooled-reads.js";

interface Known {
  readonly ipv4?: boolean;
  readonly ipv6?: boolean;
}

export class LoopbackEgress implements EgressPort {
  readonly targets: OutgoingTarget[] = [];
  readonly names: string[] = [];
  /** Connections that are being carried. */
  open = 0;
  readonly #pool = new ReadPool();
  readonly #known: ReadonlyMap<string, Known>;
  readonly #portFor: (target: OutgoingTarget) => number | OutgoingRefusal;

  /** `portFor`: the loopback port that stands for a destination. */
  constructor(known: Readonly<Record<string, Known>>, portFor: (target: OutgoingTarget) => number | OutgoingRefusal) {
    this.#known = new Map(Object.entries(known));
    this.#portFor = portFor;
  }

  async lookup(name: string): Promise<NameFamilies | OutgoingRefusal> {
    this.names.push(name);
    const known = this.#known.get(name);
    if (!known) return { code: "denied", message: "no rule allows it" };
    return { ipv4: known.ipv4 ?? true, ipv6: known.ipv6 ?? false };
  }

  async connect(target: OutgoingTarget, stream: Duplex): Promise<OutgoingRefusal | null> {
    this.targets.push(target);
    const port = this.#portFor(target);
    if (typeof port !== "number") return port;
    return await new Promise((resolve) => {
      const dialled = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
      dialled.once("error", () => resolve({ code: "refused", message: "nobody listens" }));
      dialled.once("connect", () => {
        const pooled = readPooled(dialled, this.#pool, (chunk, release) => stream.write(chunk, release));
        const socket = pooled ?? dialled;
        if (pooled === null) socket.pipe(stream);
        stream.on("drain", () => socket.resume());
        socket.once("end", () => stream.end());
        this.open++;
        // Each direction ends by itself; what goes wrong in one cuts off both.
        stream.pipe(socket);
        finished(stream, (error) => {
          this.open--;
          if (error) socket.resetAndDestroy();
        });
        finished(socket, (error) => {
          if (error) stream.destroy(error);
        });
        resolve(null);
      });
    });
  }
}
