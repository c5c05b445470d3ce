/** A terminal in a sandbox: what is typed goes in, what is shown comes out. */
import { parsed } from "./connection.js";
import { TransportError } from "./errors.js";
import type { MessageSocket } from "./transport.js";
import { isRecord } from "./wire.js";

export class Terminal implements AsyncIterable<Uint8Array>, Disposable {
  readonly #socket: MessageSocket;
  #exitCode: number | null = null;

  constructor(socket: MessageSocket) {
    this.#socket = socket;
  }

  /** How its program ended; null until all that it showed was read. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  write(typed: string | Uint8Array): void {
    this.#socket.send(typeof typed === "string" ? new TextEncoder().encode(typed) : typed);
  }

  resize(cols: number, rows: number): void {
    this.#socket.send(JSON.stringify({ type: "resize", cols, rows }));
  }

  /** Ends with its program. Leaving the loop ends the program. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const message of this.#socket.messages()) {
      if (typeof message !== "string") {
        yield message;
        continue;
      }
      const told = parsed(message);
      if (isRecord(told) && told.type === "exit") this.#exitCode = Number(told.code);
    }
    if (this.#exitCode === null) throw new TransportError("the connection ended before the terminal's program did");
  }

  /** Hangs up, which ends its program. */
  close(): void {
    this.#socket.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
