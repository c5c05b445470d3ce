/**
 * What a session's streams have carried lately, so that a client whose connection broke can go on where it was. It takes
 * room of what all answers may hold; where there is none, or for an answer that is larger than all of it, nothing is
 * kept.
 */
import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { OutputRoom } from "../../api/limits/output-budget.js";

const MOST_EVENTS = 500;
const MOST_BYTES = 512 << 10;

interface Event {
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
  readonly room: OutputRoom;
}

export class EventHistory implements EventStore {
  /** Oldest first; ids grow. */
  readonly #events = new Map<string, Event>();
  readonly #open: () => OutputRoom;
  #bytes = 0;
  #last = 0;
  #isClosed = false;

  /** `open`: memory that is shared with others. */
  constructor(open: () => OutputRoom) {
    this.#open = open;
  }

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = `${(++this.#last).toString(36)}_${stream}`;
    const bytes = Buffer.byteLength(JSON.stringify(message));
    const room = this.#open();
    if (this.#isClosed || bytes > MOST_BYTES || !room.claim(bytes)) return id;
    this.#events.set(id, { stream, message, bytes, room });
    this.#bytes += bytes;
    for (const [oldest, event] of this.#events) {
      if (this.#events.size <= MOST_EVENTS && this.#bytes <= MOST_BYTES) break;
      this.#events.delete(oldest);
      this.#bytes -= event.bytes;
      event.room.release();
    }
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.get(id)?.stream;
  }

  async replayEventsAfter(
    last: string,
    { send }: { readonly send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const stream = this.#events.get(last)?.stream;
    // Whoever asks for what is not kept any more gets an empty stream: nothing is made up.
    if (stream === undefined) return "";
    let isAfter = false;
    for (const [id, event] of [...this.#events]) {
      if (isAfter && event.stream === stream && Object.keys(event.message).length > 0) await send(id, event.message);
      isAfter ||= id === last;
    }
    return stream;
  }

  /** Nothing is kept any more. */
  close(): void {
    this.#isClosed = true;
    for (const { room } of this.#events.values()) room.release();
    this.#events.clear();
    this.#bytes = 0;
  }
}
