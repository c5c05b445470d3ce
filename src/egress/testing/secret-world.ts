/** A host that a secret is bound to, with a server that notes what reaches it, and clients that trust the sandbox's CA. */
import type { Buffer } from "node:buffer";
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import type { EgressDecision } from "../decision.js";
import type { Gateway, GatewayOptions } from "../gateway.js";
import { createSandboxSecrets, type SandboxSecrets, type SecretRequest } from "../secrets/bound-secret.js";
import { type Certificate, makeCertificate, tlsServer } from "./tls.js";
import { allowlist, PUBLIC, readAll, World } from "./world.js";

export const HOST = "api.example.com";
export const OTHER = "other.example.com";
export const VALUE = "sk-live/VALUE+that=never enters";

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export class SecretWorld extends World {
  readonly received: Received[] = [];
  readonly certificate: Certificate;
  readonly secrets: SandboxSecrets;

  constructor(certificate: Certificate = makeCertificate(HOST, OTHER), ...more: readonly SecretRequest[]) {
    super();
    this.certificate = certificate;
    const bound: SecretRequest = { name: "API_KEY", host: HOST, header: "authorization", value: VALUE };
    this.secrets = createSandboxSecrets([bound, ...more], [certificate.cert.toString()]);
    for (const name of [HOST, OTHER]) this.names.set(name, [PUBLIC]);
  }

  /** What API_KEY is inside; or another secret. */
  placeholder(name = "API_KEY"): string {
    const secret = this.secrets.bound.find((one) => one.name === name);
    if (secret === undefined) throw new Error(`there is no secret ${name}`);
    return secret.placeholder;
  }

  /** Over TLS at 443 and plainly at 80. */
  async serveHttp(answer: RequestListener = (_, response) => void response.end("answer")): Promise<void> {
    const listener: RequestListener = (request, response) => {
      void this.#note(request);
      answer(request, response);
    };
    await this.adopt(PUBLIC, 443, createHttpsServer(this.certificate, listener));
    await this.adopt(PUBLIC, 80, createHttpServer(listener));
  }

  async serveTls(handler: (socket: TLSSocket) => void): Promise<void> {
    await this.adopt(PUBLIC, 443, tlsServer(this.certificate, handler));
  }

  secretGateway(extra: Partial<GatewayOptions> = {}): Gateway {
    return this.gateway(allowlist({ domain: HOST }, { domain: OTHER }), { secrets: this.secrets, ...extra });
  }

  /** A client of the sandbox, which trusts its authority and the real server's certificate. */
  async tls(gateway: Gateway, options: ConnectionOptions = {}, name = HOST, port = 443): Promise<TLSSocket> {
    const socket = await this.client(gateway, { kind: "name", name, port });
    const ca = [this.secrets.authority.certificatePem, this.certificate.cert];
    const client = connectTls({ socket, servername: name, ca, ...options });
    client.on("error", () => client.destroy());
    return client;
  }

  /** Sends this and reads until the server ends. */
  async talk(gateway: Gateway, text: string | Buffer): Promise<string> {
    const client = await this.tls(gateway);
    client.write(text);
    const answer = await readAll(client);
    client.end();
    return answer;
  }

  ended(): Promise<EgressDecision> {
    return this.decision((one) => one.phase === "ended");
  }

  async #note(request: IncomingMessage): Promise<void> {
    let body = "";
    request.setEncoding("latin1");
    request.on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      this.received.push({ method: request.method ?? "", url: request.url ?? "", headers, body });
    });
  }
}

/** A request with these further lines. */
export function request(...lines: readonly string[]): string {
  return ["GET /path HTTP/1.1", `Host: ${HOST}`, "Connection: close", ...lines, "", ""].join("\r\n");
}
