/** Serves the files of a release on loopback, as they are or as somebody on the way has made them. */
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

/** Changes a file on its way; null: it breaks off in the middle. */
export type OnTheWay = (name: string, bytes: Buffer) => Buffer | null;

export class ReleaseServer {
  readonly asked: string[] = [];
  readonly #server: Server;

  private constructor(folder: string, onTheWay: OnTheWay) {
    this.#server = createServer((request, response) => {
      const name = (request.url ?? "/").slice(1);
      this.asked.push(name);
      const path = join(folder, name);
      if (!/^[\w.-]+$/.test(name) || !existsSync(path)) {
        response.writeHead(404).end();
        return;
      }
      const bytes = readFileSync(path);
      const arriving = onTheWay(name, bytes);
      if (arriving !== null) {
        response.end(arriving);
        return;
      }
      response.writeHead(200, { "content-length": bytes.length });
      response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
    });
  }

  static async start(folder: string, onTheWay: OnTheWay = (_, bytes) => bytes): Promise<ReleaseServer> {
    const server = new ReleaseServer(folder, onTheWay);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
