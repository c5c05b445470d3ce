/** The output of one command: kept for the answer, and told while it runs where that is wanted. */
import { StringDecoder } from "node:string_decoder";
import type { OutputRoom } from "../../api/limits/output-budget.js";
import type { GuestExec, OutputSink } from "../../guest/index.js";
import { CapturedOutput } from "../../runtime/captured-output.js";
import type { Call } from "../tool.js";

/** How often a client is told at most, and how much at once: the answer has everything. */
const TELL_MS = 100;
const MAX_PROGRESS_CHARS = 16_384;

/** Memory for one command's output, until its answer was made. */
export async function withRoom<T>({ host }: Pick<Call, "host">, work: (room: OutputRoom) => Promise<T>): Promise<T> {
  const room = host.outputs.open(host.caller.id);
  try {
    return await work(room);
  } finally {
    room.release();
  }
}

export class CommandOutput {
  readonly captured: CapturedOutput;
  readonly #progress: Call["progress"];
  readonly #decoders = { 1: new StringDecoder("utf8"), 2: new StringDecoder("utf8") };
  #unsent = "";
  #total = 0;
  #telling: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(limitMiB: number, room: OutputRoom, progress: Call["progress"]) {
    this.captured = new CapturedOutput(limitMiB << 20, room.claim);
    this.#progress = progress;
  }

  /** Resolves when all of it was taken. */
  connect(exec: GuestExec): Promise<unknown> {
    return Promise.all(
      ([1, 2] as const).map(
        (stream) => new Promise<void>((resolve) => exec.onOutput(stream, this.#sink(stream, resolve))),
      ),
    );
  }

  /** Resolves when all of it was told. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#telling;
    await this.#tell();
  }

  #sink(stream: 1 | 2, onEnd: () => void): OutputSink {
    const { write, end } = this.captured.sink(stream, onEnd);
    if (this.#progress === null) return { write, end };
    return {
      write: (chunk, done) => {
        this.#note(this.#decoders[stream].write(chunk), chunk.length);
        write(chunk, done);
      },
      end,
    };
  }

  #note(text: string, bytes: number): void {
    this.#total += bytes;
    this.#unsent = (this.#unsent + text).slice(-2 * MAX_PROGRESS_CHARS);
    if (this.#isClosed || this.#timer !== null || this.#telling !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#telling = this.#tell().finally(() => {
        this.#telling = null;
        if (this.#unsent !== "") this.#note("", 0);
      });
    }, TELL_MS);
  }

  async #tell(): Promise<void> {
    if (this.#unsent === "" || this.#progress === null) return;
    const text = this.#unsent.slice(-MAX_PROGRESS_CHARS);
    this.#unsent = "";
    await this.#progress(this.#total, text);
  }
}
