/** What is heard of a command while it runs. */
import { parsed } from "./connection.js";
import { ApiError, BadAnswerError, TransportError } from "./errors.js";
import type { Usage } from "./records.js";
import type { ServerEvent } from "./sse.js";
import { fromBase64, fromWire, isRecord } from "./wire.js";

export interface StartedEvent {
  readonly type: "started";
  readonly sandbox: string;
}

/** Some of the command's output. With `encoding: "base64"` every byte is kept; otherwise what is not UTF-8 is replaced. */
export class OutputEvent {
  readonly type: "stdout" | "stderr";
  readonly #content: string | Uint8Array;

  constructor(type: "stdout" | "stderr", content: string | Uint8Array) {
    this.type = type;
    this.#content = content;
  }

  get text(): string {
    return typeof this.#content === "string" ? this.#content : new TextDecoder().decode(this.#content);
  }

  get bytes(): Uint8Array {
    return typeof this.#content === "string" ? new TextEncoder().encode(this.#content) : this.#content;
  }
}

export interface ExitEvent {
  readonly type: "exit";
  readonly code: number;
  readonly durationMs: number;
  readonly timedOut: boolean;
  readonly sandbox: string;
  readonly usage?: Usage | null;
}

export type CommandEvent = StartedEvent | OutputEvent | ExitEvent;

/** Ends after the exit. Throws where the command could not be run, and where the stream ends before the command. */
export async function* commandEvents(events: AsyncIterable<ServerEvent>): AsyncGenerator<CommandEvent, void> {
  for await (const { event, data } of events) {
    const read = commandEvent(event, data);
    if (read !== null) yield read;
    if (read?.type === "exit") return;
  }
  throw new TransportError("the stream ended before the command did");
}

/** Null for an event of a kind that this version does not know. */
function commandEvent(event: string, data: string): CommandEvent | null {
  const body = parsed(data);
  if (!isRecord(body)) throw new BadAnswerError(`the event ${event} has no fields`);
  switch (event) {
    case "stdout":
    case "stderr":
      return new OutputEvent(event, "base64" in body ? fromBase64(String(body.base64)) : String(body.text));
    case "started":
    case "exit":
      return { type: event, ...(fromWire(body) as object) } as StartedEvent | ExitEvent;
    case "error":
      throw new ApiError({
        code: String(body.code),
        message: String(body.message),
        hint: typeof body.hint === "string" ? body.hint : null,
        details: isRecord(body.details) ? body.details : {},
      });
    default:
      return null;
  }
}
