/** A token service for docker-registry: checks a login and signs what it may do, as the registry's users know it. */
import { execFileSync } from "node:child_process";
import { createSign, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

const ISSUER = "agentkernel test";
const SERVICE = "registry under test";

export class TokenService {
  readonly #server: Server;
  readonly #certificatePath: string;
  /** Scopes that were asked for, and whether with the right login. */
  readonly asked: { readonly scope: string; readonly known: boolean }[] = [];

  private constructor(server: Server, certificatePath: string) {
    this.#server = server;
    this.#certificatePath = certificatePath;
  }

  static async start(folder: string, login: string): Promise<TokenService> {
    const [keyPath, certificatePath] = [join(folder, "token.key"), join(folder, "token.pem")];
    const kind = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=token"];
    execFileSync("openssl", [...kind, "-keyout", keyPath, "-out", certificatePath], { stdio: "ignore" });
    const key = readFileSync(keyPath);
    const chain = [readFileSync(certificatePath, "utf8").replace(/-----[^-]+-----|\s/g, "")];
    const server = createServer((request, response) => {
      const scope = new URL(request.url ?? "/", "http://x").searchParams.get("scope") ?? "";
      const known = request.headers.authorization === `Basic ${Buffer.from(login).toString("base64")}`;
      service.asked.push({ scope, known });
      const [type, name, actions = ""] = scope.split(":");
      const access = known && name !== undefined ? [{ type, name, actions: actions.split(",") }] : [];
      response.end(JSON.stringify({ token: signToken(key, chain, access) }));
    });
    const service = new TokenService(server, certificatePath);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return service;
  }

  /** The registry's configuration for this service. */
  get auth(): object {
    const { port } = this.#server.address() as AddressInfo;
    const realm = `http://127.0.0.1:${port}/token`;
    return { token: { realm, service: SERVICE, issuer: ISSUER, rootcertbundle: this.#certificatePath } };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

function signToken(key: Buffer, x5c: readonly string[], access: readonly object[]): string {
  const now = Math.floor(Date.now() / 1000);
  const times = { iat: now - 10, nbf: now - 10, exp: now + 300 };
  const claims = { iss: ISSUER, sub: "user", aud: SERVICE, jti: randomUUID(), ...times, access };
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${encode({ typ: "JWT", alg: "RS256", x5c })}.${encode(claims)}`;
  return `${signed}.${createSign("RSA-SHA256").update(signed).sign(key, "base64url")}`;
}
