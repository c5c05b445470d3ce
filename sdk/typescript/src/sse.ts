/** Server-Sent Events out of bytes, however these are cut. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

export class EventParser {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #event = "";
  #data: string[] = [];

  /** The events that are complete with these bytes. */
  *push(chunk: Uint8Array): Generator<ServerEvent> {
    this.#rest += this.#decoder.decode(chunk, { stream: true });
    // A carriage return at the end may be the first half of a line's end.
    const whole = this.#rest.endsWith("\r") ? this.#rest.slice(0, -1) : this.#rest;
    const lines = whole.split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + this.#rest.slice(whole.length);
    for (const line of lines) {
      const complete = this.#take(line);
      if (complete !== null) yield complete;
    }
  }

  #take(line: string): ServerEvent | null {
    if (line === "") return this.#finish();
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    if (field === "data") this.#data.push(value);
    return null;
  }

  #finish(): ServerEvent | null {
    const complete = { event: this.#event || "message", data: this.#data.join("\n") };
    const isEmpty = this.#data.length === 0;
    this.#event = "";
    this.#data = [];
    return isEmpty ? null : complete;
  }
}
