/**
 * The HTTP interface as a part of the daemon: on its own socket for the user's processes, and on TCP where `serve` asked
 * for that. Its code is loaded with the first request that is not the daemon's own.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { JwtSettings, JwtVerifier } from "../api/auth/jwt.js";
import type { LocalToken } from "../api/auth/local-token.js";
import type { Dialect } from "../api/dialect.js";
import type { TcpPlace } from "../api/http/listener.js";
import type { Api, ApiLimits } from "../api/index.js";
import { Metrics } from "../api/metrics/index.js";
import { AgentKernelError } from "../core/errors.js";
import { apiKeysFolder, apiTokenFile, stateFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import type { E2bOptions } from "../e2b/options.js";
import type { Resident } from "../runtime/resident.js";
import type { Log } from "./log.js";

export interface ServeOptions {
  readonly tcp: TcpPlace;
  readonly jwt: JwtSettings | null;
  readonly limits: Partial<ApiLimits>;
  /** Null: clients of E2B are not served. */
  readonly e2b: E2bOptions | null;
  /** Null: the usual place. */
  readonly accessLogPath: string | null;
}

interface DaemonApiParts {
  readonly own: Pick<Surroundings, "env" | "homeDir">;
  readonly log: Log;
  readonly serve: ServeOptions | null;
}

/** How long requests may take to end when the daemon does. */
const STOP_GRACE_MS = 5000;

export class DaemonApi {
  /** Counts for everybody that the daemon serves. */
  readonly meter = new Metrics();
  readonly #parts: DaemonApiParts;
  readonly #resident: Omit<Resident, "meter">;
  #api: Promise<Api> | null = null;
  #tcp: Server | null = null;
  #localToken: LocalToken | null = null;
  /** Where it listens on TCP; null where it does not. */
  url: string | null = null;

  constructor(parts: DaemonApiParts, resident: Omit<Resident, "meter">) {
    // Frozen, so that what is found out about it once holds; and what it comes from may be slow to read.
    this.#parts = { ...parts, own: { ...parts.own, env: Object.freeze({ ...parts.own.env }) } };
    this.#resident = resident;
  }

  /** Listens on TCP too, where that was asked for. */
  async open(): Promise<void> {
    const { serve, log } = this.#parts;
    if (serve === null) return;
    const [{ createTcpServer, listenOn }, { LocalToken }] = await Promise.all([
      import("../api/http/listener.js"),
      import("../api/auth/local-token.js"),
    ]);
    const { tcp } = serve;
    const { env, homeDir } = this.#parts.own;
    await refuseWithoutKeys(serve, this.#parts.own);
    const api = await this.#ready();
    const { server, newcomers } = createTcpServer(tcp);
    const domain = serve.e2b?.domain ?? null;
    const door = { kind: "tcp", isTls: tcp.tls !== null, host: tcp.host, domain, newcomers } as const;
    server.on("request", (request, response) => void api.serve(request, response, door));
    server.on("checkContinue", (request, response) => void api.serve(request, response, door, true));
    server.on("upgrade", (request, socket, head) => void api.upgrade(request, socket, head, door));
    const { url, port } = await listenOn(server, tcp);
    this.#tcp = server;
    // Only now is the port ours. Until then no token is accepted.
    this.#localToken = LocalToken.write(apiTokenFile(env, homeDir, port));
    this.url = url;
    log.say(`the HTTP interface listens on ${this.url}`);
  }

  /** A request on the daemon's own socket. */
  async serve(request: IncomingMessage, response: ServerResponse, isWaiting = false): Promise<void> {
    await (await this.#ready()).serve(request, response, ownSocket, isWaiting);
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    await (await this.#ready()).upgrade(request, socket, head, ownSocket);
  }

  async close(): Promise<void> {
    this.#localToken?.remove();
    this.#tcp?.close();
    this.#tcp?.closeIdleConnections();
    await (await this.#api)?.stop(STOP_GRACE_MS);
    this.#tcp?.closeAllConnections();
  }

  #ready(): Promise<Api> {
    this.#api ??= this.#load();
    return this.#api;
  }

  async #load(): Promise<Api> {
    const { own, log, serve } = this.#parts;
    const [{ Api: ApiClass, usualLimits }, { Authenticator }, { KeyStore }, { AccessLog }, { McpHttp }, published] =
      await Promise.all([
        import("../api/index.js"),
        import("../api/auth/index.js"),
        import("../api/auth/key-store.js"),
        import("../api/http/access-log.js"),
        import("../mcp/http/index.js"),
        import("../published/index.js"),
      ]);
    const jwt = serve?.jwt ? await verifierOf(serve.jwt) : null;
    const e2b = serve?.e2b ? [await this.#openE2b(serve.e2b)] : [];
    const keys = new KeyStore(apiKeysFolder(own.env, own.homeDir));
    return new ApiClass({
      own,
      resident: this.#resident,
      metrics: this.meter,
      auth: new Authenticator({ keys, jwt, localToken: () => this.#localToken }),
      access: new AccessLog(serve?.accessLogPath ?? join(stateFolder(own.env, own.homeDir), "access.log")),
      limits: { ...usualLimits, ...serve?.limits },
      dialects: [...e2b, published.publishedSdks],
      mcp: new McpHttp({ onFault: (error) => log.say(`MCP: ${describe(error)}`) }),
      onRemark: (line) => log.say(line),
      onFault: (error, id) => log.say(`request ${id}: ${describe(error)}`),
    });
  }

  async #openE2b(options: E2bOptions): Promise<Dialect> {
    const { E2bDialect } = await import("../e2b/index.js");
    const { own, log } = this.#parts;
    return E2bDialect.open({
      ...options,
      own,
      sandboxes: this.#resident.sandboxes,
      onRemark: (line) => log.say(line),
    });
  }
}

const ownSocket = { kind: "unix", isTls: false, host: null, domain: null, newcomers: null } as const;

/** Whatever would keep it from serving, found out before anybody makes room for it. */
export async function checkServe(serve: ServeOptions, own: DaemonApiParts["own"]): Promise<void> {
  const { checkName, tryListening } = await import("../api/http/listener.js");
  if (serve.jwt !== null) await verifierOf(serve.jwt);
  await refuseWithoutKeys(serve, own);
  await checkName(serve.tcp);
  await tryListening(serve.tcp);
}

async function refuseWithoutKeys({ tcp: { host }, jwt }: ServeOptions, own: DaemonApiParts["own"]): Promise<void> {
  const { isLoopbackHost } = await import("../api/http/listener.js");
  if (isLoopbackHost(host) || jwt !== null) return;
  const { KeyStore } = await import("../api/auth/key-store.js");
  if (new KeyStore(apiKeysFolder(own.env, own.homeDir)).list().length > 0) return;
  throw new AgentKernelError("invalid_argument", `${host} can be reached from other machines, and there is no key`, {
    hint: "make one first (agentkernel keys create NAME), or take tokens (--jwks), or listen on 127.0.0.1",
  });
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** It asks for keys by HTTPS. */
async function verifierOf(settings: JwtSettings): Promise<JwtVerifier> {
  const [{ JwtVerifier }, { trustHeldAuthorities }] = await Promise.all([
    import("../api/auth/jwt.js"),
    import("../core/trust-held-authorities.js"),
  ]);
  trustHeldAuthorities();
  return new JwtVerifier(settings);
}
