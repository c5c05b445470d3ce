/** TLS through a proxy: the proxy is asked for a tunnel (CONNECT), and sees nothing of what goes through it. */
import { request as httpRequest, type RequestOptions } from "node:http";
import { Agent, type AgentOptions, request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { ConnectionFaultError } from "./failures.js";

type Created = (error: Error | null, stream: Duplex) => void;

export class TunnelAgent extends Agent {
  readonly #proxy: URL;
  readonly #timeoutMs: number;

  constructor(proxy: URL, timeoutMs: number, options: AgentOptions) {
    super(options);
    this.#proxy = proxy;
    this.#timeoutMs = timeoutMs;
  }

  override createConnection(options: RequestOptions, created?: Created): Duplex | null | undefined {
    const host = options.host ?? "";
    const port = Number(options.port ?? 443);
    const done = (error: Error | null, socket?: Socket): void => {
      // Node's own types want a stream also where there is none.
      created?.(error, socket as Duplex);
    };
    this.#open(host, port, (error, socket) => {
      if (socket === undefined) {
        done(error);
        return;
      }
      const tls = connectTls({ socket, ...(isIP(host) === 0 ? { servername: host } : {}), host });
      const failed = (reason: Error): void => done(reason);
      tls.once("error", failed);
      tls.once("secureConnect", () => {
        tls.off("error", failed);
        done(null, tls);
      });
    });
    return undefined;
  }

  #open(host: string, port: number, opened: (error: Error | null, socket?: Socket) => void): void {
    const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    const fault = (why: string): ConnectionFaultError =>
      new ConnectionFaultError("proxy", `the proxy ${this.#proxy.host} ${why}`);
    const send = this.#proxy.protocol === "https:" ? httpsRequest : httpRequest;
    const asked = send({
      method: "CONNECT",
      host: this.#proxy.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: this.#proxy.port || (this.#proxy.protocol === "https:" ? 443 : 80),
      path: authority,
      headers: { host: authority, ...loginHeader(this.#proxy) },
      agent: false,
      timeout: this.#timeoutMs,
    });
    asked.once("timeout", () => asked.destroy(fault("does not answer")));
    asked.once("connect", (answer, socket) => {
      socket.setTimeout(0);
      if (answer.statusCode === 200) {
        opened(null, socket);
        return;
      }
      socket.destroy();
      const login = answer.statusCode === 407 ? "wants another login" : "opens no connection";
      opened(fault(`${login} (${answer.statusCode})`));
    });
    // A proxy that answers with a body has refused.
    asked.once("response", (answer) => {
      answer.destroy();
      opened(fault(`opens no connection (${answer.statusCode})`));
    });
    asked.once("error", (error) => {
      const code = "code" in error ? ` (${error.code})` : "";
      opened(error instanceof ConnectionFaultError ? error : fault(`cannot be reached${code}`));
    });
    asked.end();
  }
}

function loginHeader({ username, password }: URL): Record<string, string> {
  if (username === "") return {};
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` };
}
