/** Messages as lines on two streams. Nothing but messages is ever written. A slow reader holds up nobody but itself. */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { type Message, requestIdOf, stillAtWork } from "../message.js";
import type { RequestId, RequestsAtWork } from "../requests-at-work.js";
import { type MessageLine, parseLine } from "./message-lines.js";

export interface LineOutput {
  write(bytes: Buffer, taken: () => void): void;
}

interface LineTransportParts {
  readonly lines: AsyncIterator<MessageLine, void>;
  /** Was read already, to be answered here first. */
  readonly first: MessageLine | null;
  /** The id of a request that has its answer already: the one that is made here is not sent. */
  readonly answered: RequestId | null;
  readonly output: LineOutput;
  readonly atWork: RequestsAtWork;
}

export class LineTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onerror?: (error: Error) => void;
  onclose?: () => void;
  readonly #parts: LineTransportParts;
  #answered: RequestId | null;
  #isClosed = false;

  constructor(parts: LineTransportParts) {
    this.#parts = parts;
    this.#answered = parts.answered;
  }

  async start(): Promise<void> {
    const { first } = this.#parts;
    if (first !== null) this.#take(first);
    void this.#read();
  }

  /** Resolves when it is on its way, as fast as the client reads. */
  async send(message: JSONRPCMessage): Promise<void> {
    const id = "method" in message ? undefined : message.id;
    const giveBack = id === undefined ? null : this.#parts.atWork.leave(id);
    try {
      if (!this.#isClosed && !this.#isAnswered(message)) await this.#write(message);
    } finally {
      giveBack?.();
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
  }

  #write(message: object): Promise<void> {
    return new Promise((resolve) => this.#parts.output.write(Buffer.from(`${JSON.stringify(message)}\n`), resolve));
  }

  #isAnswered(message: JSONRPCMessage): boolean {
    if (this.#answered === null || !("id" in message) || "method" in message) return false;
    if (message.id !== this.#answered) return false;
    this.#answered = null;
    return true;
  }

  async #read(): Promise<void> {
    try {
      for (let next = await this.#parts.lines.next(); !next.done; next = await this.#parts.lines.next()) {
        if (this.#isClosed) break;
        this.#take(next.value);
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
    // Whoever has nothing more to say is gone.
    await this.close();
  }

  #take(line: MessageLine): void {
    const parsed = parseLine(line);
    if (parsed === null) return;
    const fault = "fault" in parsed ? parsed.fault : this.#refusalOf(parsed.message);
    if (fault !== null) void this.#write(fault);
    else if ("message" in parsed) this.onmessage?.(parsed.message as unknown as JSONRPCMessage);
  }

  #refusalOf(message: Message): object | null {
    const { atWork } = this.#parts;
    const id = requestIdOf(message);
    if (id !== null) return atWork.take(id) ? null : stillAtWork(id);
    // What is cancelled is never answered.
    const { requestId } = (message.params ?? {}) as Message;
    if (message.method === "notifications/cancelled" && requestId !== undefined) atWork.leave(requestId as RequestId);
    return null;
  }
}
