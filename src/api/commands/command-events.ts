/** A command's life as events: that it runs, its output, and its end or why it had none. */
import type { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { StringDecoder } from "node:string_decoder";
import type { Redactor } from "../../core/redact.js";
import type { GuestExec, OutputSink } from "../../guest/index.js";
import { errorAnswer } from "../http/error-answer.js";
import { EventStream, type RenameEvent } from "../sse.js";

export type Encoding = "utf8" | "base64";

const names = { 1: "stdout", 2: "stderr" } as const;

export class EventsOfCommand {
  readonly #stream: EventStream;
  readonly #encoding: Encoding;
  #hasStarted = false;
  #about: object = {};

  private constructor(stream: EventStream, encoding: Encoding) {
    this.#stream = stream;
    this.#encoding = encoding;
  }

  /** `work` returns what the last event says; where it fails, the last event says why. */
  static async tell(
    response: ServerResponse,
    encoding: Encoding,
    redact: Redactor,
    work: (events: EventsOfCommand) => Promise<object>,
    rename?: RenameEvent,
  ): Promise<void> {
    const stream = new EventStream(response, rename);
    try {
      const end = await work(new EventsOfCommand(stream, encoding));
      stream.send("exit", end);
    } catch (error) {
      stream.send("error", errorAnswer(error, redact).error);
      throw error;
    } finally {
      await stream.end();
    }
  }

  /** Adds facts that are known before the command runs. */
  named(about: object): void {
    this.#about = about;
  }

  started(): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#stream.send("started", this.#about);
  }

  /** Resolves when all output was sent, or nobody reads any more. */
  connect(exec: GuestExec): Promise<unknown> {
    const both = ([1, 2] as const).map(
      (stream) => new Promise<void>((resolve) => exec.onOutput(stream, this.#sink(names[stream], resolve))),
    );
    return Promise.all(both);
  }

  #sink(name: "stdout" | "stderr", onEnd: () => void): OutputSink {
    const decoder = new StringDecoder("utf8");
    const sendText = (text: string, done: () => void) => {
      if (text === "") done();
      else this.#stream.send(name, { text }, done);
    };
    return {
      write: (chunk: Buffer, done) => {
        // Output can be here before anybody was told that the command runs.
        this.started();
        // A character that is split over two chunks waits for its other half.
        if (this.#encoding === "base64") this.#stream.send(name, { base64: chunk.toString("base64") }, done);
        else sendText(decoder.write(chunk), done);
      },
      end: () => {
        if (this.#encoding === "utf8") sendText(decoder.end(), onEnd);
        else onEnd();
      },
    };
  }
}
