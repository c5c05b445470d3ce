/**
 * Ends the TLS of connections to hosts that secrets are bound to. The secret is put in only between a client that
 * named exactly this host and a server that proved to be it; in every other case the client is told why not.
 */
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import { carry } from "../carry.js";
import { parseHost, shown } from "../host.js";
import type { Allowance, GatewayLimits } from "../limits.js";
import type { Opened } from "../opener.js";
import { httpAnswer } from "../refusal-answer.js";
import type { BoundSecret, SandboxSecrets } from "./bound-secret.js";
import { SecretExchange } from "./exchange.js";
import { clientSpeaksTls } from "./first-speaker.js";
import { trustedRoots } from "./roots.js";
import { serveTls, verifyServer } from "./tls-ends.js";

/** How long a client has to take our refusal. */
const LINGER_MS = 2_000;

type Outcome = TLSSocket | { readonly failed: string };

export class TlsEnding {
  readonly #secrets: SandboxSecrets;
  readonly #limits: GatewayLimits;
  readonly #held: Allowance;
  #upstream: Promise<SecureContext> | null = null;

  constructor(secrets: SandboxSecrets, limits: GatewayLimits, held: Allowance) {
    this.#secrets = secrets;
    this.#limits = limits;
    this.#held = held;
  }

  /** True where it has taken both over; false where the client speaks no TLS, and nothing was taken from either. */
  async take(client: Duplex, opened: Opened, host: string): Promise<boolean> {
    if (!(await clientSpeaksTls(client, opened.socket, this.#limits.idleMs))) return false;
    const { handshakeMs } = this.#limits;
    const [inner, outer] = await Promise.all([
      settled(serveTls(client, this.#secrets.authority.contextFor(host), handshakeMs)),
      settled(this.#trust().then((context) => verifyServer(opened.socket, host, context, handshakeMs))),
    ]);
    if ("failed" in inner) {
      const why = `the client did not finish TLS with the sandbox's own authority: ${inner.failed}`;
      this.#end(opened, outer, why);
      client.destroy();
    } else if ("failed" in outer) {
      await this.#refuse(inner, opened, outer, 502, `${host} could not be verified: ${outer.failed}`);
    } else {
      const unnamed = whyOtherServer(inner, host);
      if (unnamed !== null) await this.#refuse(inner, opened, outer, 403, unnamed);
      else this.#carry(inner, outer, opened, host);
    }
    return true;
  }

  #carry(client: TLSSocket, server: TLSSocket, { record, expected }: Opened, host: string): void {
    const { bound } = this.#secrets;
    const { headBytes, handshakeMs, idleMs } = this.#limits;
    record.note({ seen: { kind: "sni", name: host } });
    const exchange = new SecretExchange({
      host,
      port: expected.port,
      secrets: boundTo(bound, host),
      all: bound,
      headBytes,
      allowance: this.#held,
      used: (use) => record.noteSecret({ ...use, where: shown(use.where) }),
    });
    carry({
      client,
      server,
      inspector: exchange,
      answers: exchange.answers,
      enforce: true,
      handshakeMs,
      idleMs,
      onEnd: ({ sent, received, refused }) => record.end({ sent, received }, refused),
    });
  }

  /** In the client's own protocol, after its request: an answer to nothing would not be read. */
  async #refuse(client: TLSSocket, opened: Opened, outer: Outcome, status: number, why: string): Promise<void> {
    this.#end(opened, outer, why);
    const linger = setTimeout(() => client.destroy(), LINGER_MS);
    client.once("close", () => clearTimeout(linger));
    await settled(once(client, "readable").then(() => client));
    if (client.destroyed) return;
    client.resume();
    client.end(httpAnswer(status, `no secret is sent: ${why}`));
  }

  #end({ record, socket }: Opened, outer: Outcome, why: string): void {
    if (!("failed" in outer)) outer.destroy();
    socket.destroy();
    record.end({ sent: 0, received: 0 }, why);
  }

  #trust(): Promise<SecureContext> {
    const { roots } = this.#secrets;
    this.#upstream ??= Promise.resolve(roots ?? trustedRoots(process.env)).then((ca) =>
      createSecureContext({ ca: [...ca], minVersion: "TLSv1.2" }),
    );
    return this.#upstream;
  }
}

function boundTo(secrets: readonly BoundSecret[], host: string): readonly BoundSecret[] {
  return secrets.filter((secret) => secret.host === host);
}

function whyOtherServer({ servername }: TLSSocket, host: string): string | null {
  if (typeof servername !== "string" || servername === "") return "a ClientHello without a server name";
  const named = parseHost(servername);
  return named.kind === "name" && named.name === host ? null : `SNI says ${shown(servername)}, allowed was ${host}`;
}

async function settled(work: Promise<TLSSocket>): Promise<Outcome> {
  try {
    return await work;
  } catch (error) {
    return { failed: error instanceof Error ? shown(error.message) : "it failed" };
  }
}
