/** A proxy on loopback that opens tunnels: every host leads to one address, and what was asked for is kept. */
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";

interface AskedTunnel {
  readonly authority: string;
  readonly login: string | undefined;
}

export class ConnectProxy {
  readonly asked: AskedTunnel[] = [];
  /** The status of refusals; null opens. */
  refuse: number | null = null;
  readonly #server: Server = createServer();

  static async start(targetPort: number): Promise<ConnectProxy> {
    const proxy = new ConnectProxy();
    proxy.#server.on("connect", (request, socket) => {
      proxy.asked.push({ authority: request.url ?? "", login: request.headers["proxy-authorization"] });
      socket.on("error", () => {});
      if (proxy.refuse !== null) {
        socket.end(`HTTP/1.1 ${proxy.refuse} No\r\n\r\n`);
        return;
      }
      const target = connect(targetPort, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        target.pipe(socket).pipe(target);
      });
      target.on("error", () => socket.destroy());
      socket.once("close", () => target.destroy());
    });
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
