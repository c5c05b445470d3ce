/** Stands between a client and an engine, and keeps back what the engine says of the ends of containers. */
import { connect, createServer, type Server, type Socket } from "node:net";

export class SlowEngine {
  readonly socketPath: string;
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(socketPath: string, server: Server) {
    this.socketPath = socketPath;
    this.#server = server;
  }

  static async before(enginePath: string, socketPath: string): Promise<SlowEngine> {
    const server = createServer();
    const slow = new SlowEngine(socketPath, server);
    server.on("connection", (client) => slow.#carry(client, connect(enginePath)));
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    return slow;
  }

  #carry(client: Socket, engine: Socket): void {
    let isKeptBack = false;
    for (const socket of [client, engine]) {
      this.#open.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        this.#open.delete(socket);
        client.destroy();
        engine.destroy();
      });
    }
    client.on("data", (chunk: Buffer) => {
      // One connection serves one request after the other.
      if (chunk.includes("HTTP/1.1")) isKeptBack = chunk.includes("/wait?");
      engine.write(chunk);
    });
    engine.on("data", (chunk: Buffer) => {
      if (!isKeptBack) client.write(chunk);
    });
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#open) socket.destroy();
    await closed;
  }
}
