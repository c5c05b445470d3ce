/** Stands between a client and an engine, and keeps back the engine's answers to one kind of question. */
import { connect, createServer, type Server, type Socket } from "node:net";

export class SlowEngine {
  readonly socketPath: string;
  readonly #server: Server;
  readonly #question: string;
  readonly #open = new Set<Socket>();
  readonly #keptBack: (() => void)[] = [];
  #isReleased = false;

  private constructor(socketPath: string, server: Server, question: string) {
    this.socketPath = socketPath;
    this.#server = server;
    this.#question = question;
  }

  /** `question` is a part of the addresses of the requests. */
  static async before(enginePath: string, socketPath: string, question: string): Promise<SlowEngine> {
    const server = createServer();
    const slow = new SlowEngine(socketPath, server, question);
    server.on("connection", (client) => slow.#carry(client, connect(enginePath)));
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    return slow;
  }

  /** What was kept back is said now, and from now on. */
  release(): void {
    this.#isReleased = true;
    for (const say of this.#keptBack.splice(0)) say();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#open) socket.destroy();
    await closed;
  }

  #carry(client: Socket, engine: Socket): void {
    let isSlow = false;
    const say = (what: () => void) => {
      if (isSlow && !this.#isReleased) this.#keptBack.push(what);
      else what();
    };
    for (const socket of [client, engine]) {
      this.#open.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => this.#open.delete(socket));
    }
    client.once("data", (chunk: Buffer) => {
      const [line = ""] = chunk.toString("latin1").split("\r\n");
      isSlow = line.includes(this.#question);
    });
    client.on("data", (chunk: Buffer) => engine.write(chunk));
    client.once("close", () => engine.destroy());
    engine.on("data", (chunk: Buffer) => say(() => client.write(chunk)));
    engine.once("end", () => say(() => client.end()));
    engine.once("close", () => say(() => client.destroy()));
  }
}
