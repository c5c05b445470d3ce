/** What a session's streams have carried lately, so that a client whose connection broke can go on where it was. */
import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

const MOST_EVENTS = 1000;
const MOST_BYTES = 8 << 20;

interface Event {
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
}

export class EventHistory implements EventStore {
  /** Oldest first; ids grow. */
  readonly #events = new Map<string, Event>();
  #bytes = 0;
  #last = 0;

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = `${(++this.#last).toString(36)}_${stream}`;
    const bytes = JSON.stringify(message).length;
    this.#events.set(id, { stream, message, bytes });
    this.#bytes += bytes;
    for (const [oldest, event] of this.#events) {
      if (this.#events.size <= MOST_EVENTS && this.#bytes <= MOST_BYTES) break;
      this.#events.delete(oldest);
      this.#bytes -= event.bytes;
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
}
