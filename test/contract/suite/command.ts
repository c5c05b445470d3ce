/** A command in a sandbox under test: its output as it comes, and its end. */
import type { ExecExit } from "../../../src/core/exec.js";
import type { GuestExec, OutputSink } from "../../../src/guest/index.js";

export interface Ran {
  readonly code: number | null;
  readonly signal: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
  readonly exit: ExecExit;
}

export class Command {
  readonly exec: GuestExec;
  readonly #outputs: readonly Output[];

  constructor(exec: GuestExec, streams: readonly (1 | 2)[]) {
    this.exec = exec;
    this.#outputs = streams.map((stream) => {
      const output = new Output();
      exec.onOutput(stream, output);
      return output;
    });
    // Whoever asks for them gets the error; a test that only wants the other one must not die of it.
    exec.opened.catch(() => {});
    exec.exited.catch(() => {});
  }

  get stdout(): string {
    return this.#outputs[0]?.bytes.toString() ?? "";
  }

  /** Resolves as soon as the pattern is in what the command has written to stdout (with a terminal: at all). */
  until(pattern: RegExp): Promise<RegExpExecArray> {
    const [output] = this.#outputs;
    if (output === undefined) throw new Error("the command has no output");
    return output.until(pattern);
  }

  type(text: string | Buffer): void {
    this.exec.writeStdin(Buffer.from(text));
  }

  async ran(): Promise<Ran> {
    const exit = await this.exec.exited;
    await Promise.all(this.#outputs.map((output) => output.ended));
    const [out, err] = this.#outputs.map((output) => output.bytes);
    return {
      code: exit.code,
      signal: exit.signal,
      stdout: String(out ?? ""),
      stderr: String(err ?? ""),
      bytes: out ?? Buffer.alloc(0),
      exit,
    };
  }
}

class Output implements OutputSink {
  readonly ended: Promise<void>;
  #end: () => void = () => {};
  readonly #parts: Buffer[] = [];
  readonly #waiting = new Set<() => void>();

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  write(chunk: Buffer, done: () => void): void {
    this.#parts.push(Buffer.from(chunk));
    done();
    for (const look of this.#waiting) look();
  }

  end(): void {
    this.#end();
    for (const look of this.#waiting) look();
  }

  until(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(this.bytes.toString());
        if (found === null) return;
        this.#waiting.delete(look);
        resolve(found);
      };
      this.#waiting.add(look);
      look();
      void this.ended.then(() => {
        look();
        reject(new Error(`the output ended without ${pattern}: ${JSON.stringify(this.bytes.toString())}`));
      });
    });
  }
}
