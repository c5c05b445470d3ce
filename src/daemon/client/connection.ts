/** From an upgraded connection to a session: the first frame, the decision, the answer. */
import { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import type { Resident } from "../../runtime/resident.js";
import { refusalOf } from "./admission.js";
import type { Commands } from "./commands.js";
import { ClientFrame, FrameDecoder, type FrameReceiver } from "./frames.js";
import { ClientSession } from "./session.js";
import type { StartReader } from "./start.js";

/** A client says at once what it wants. */
const START_TIMEOUT_MS = 5000;

const AGREEMENT = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: agentkernel-client\r\n\r\n";

export interface ConnectionOptions {
  /** Why no client is served at all now; null otherwise. */
  readonly isClosed: () => string | null;
  /** Where this process lives: see `ownPlace`. */
  readonly place: string;
  readonly resident: Resident;
  readonly commands: Commands;
  readonly starts: StartReader;
  readonly onSession: (session: ClientSession) => void;
  readonly onFault: (error: unknown) => void;
}

export class ClientConnection implements FrameReceiver {
  readonly #socket: Duplex;
  readonly #options: ConnectionOptions;
  readonly #decoder = new FrameDecoder(this);
  #timer: NodeJS.Timeout | undefined;
  #session: ClientSession | null = null;
  #hasStarted = false;

  constructor(socket: Duplex, head: Buffer, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    // A client that is gone is told of by the end of its connection.
    socket.on("error", () => {});
    socket.on("end", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => this.#push(chunk));
    if (head.length > 0) this.#push(head);
    // Most have said it by now.
    if (this.#hasStarted || socket.destroyed) return;
    this.#timer = setTimeout(() => socket.destroy(), START_TIMEOUT_MS);
    socket.once("close", () => clearTimeout(this.#timer));
  }

  data(stream: number, piece: Buffer): void {
    if (this.#session === null) throw new RangeError("data before the agreement");
    this.#session.data(stream, piece);
  }

  frame(type: number, stream: number, payload: Buffer): void {
    if (this.#session !== null) {
      this.#session.frame(type, stream, payload);
      return;
    }
    if (type !== ClientFrame.start || this.#hasStarted) throw new RangeError(`frame ${type} before the agreement`);
    this.#hasStarted = true;
    clearTimeout(this.#timer);
    const start = this.#options.starts.read(payload);
    void this.#decide(start).catch((error: unknown) => {
      this.#options.onFault(error);
      this.#socket.destroy();
    });
  }

  async #decide(start: Parameters<typeof refusalOf>[0]): Promise<void> {
    const { isClosed, place, resident, commands } = this.#options;
    const refusal = isClosed() ?? (await refusalOf(start, place, commands));
    if (this.#socket.destroyed) return;
    if (refusal !== null) {
      refuse(this.#socket, refusal);
      return;
    }
    // Before anything is set going: a client that was not told, because this process died, does it alone.
    this.#socket.write(AGREEMENT);
    this.#session = new ClientSession(this.#socket, start, resident, commands);
    this.#options.onSession(this.#session);
  }

  #push(chunk: Buffer): void {
    try {
      this.#decoder.push(chunk);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#options.onFault(error);
      this.#socket.destroy();
    }
  }
}

/** The client then does alone what it was asked for. */
export function refuse(socket: Duplex, message: string): void {
  const body = JSON.stringify({ success: false, error: { code: "conflict", message, hint: null } });
  const head = "HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nConnection: close\r\n";
  socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
