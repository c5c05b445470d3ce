/** A command's output kept for the JSON answer, up to a limit; what is beyond is counted and dropped. */
import { Buffer } from "node:buffer";
import type { OutputSink } from "../../guest/index.js";

const LIMIT_BYTES = 16 << 20;

export class CapturedOutput {
  readonly #chunks: { stream: 1 | 2; bytes: Buffer }[] = [];
  #keptBytes = 0;
  droppedBytes = 0;

  sink(stream: 1 | 2, onEnd: () => void): OutputSink {
    return {
      write: (chunk, done) => {
        const room = Math.max(0, LIMIT_BYTES - this.#keptBytes);
        const kept = Buffer.from(chunk.subarray(0, room));
        if (kept.length > 0) this.#chunks.push({ stream, bytes: kept });
        this.#keptBytes += kept.length;
        this.droppedBytes += chunk.length - kept.length;
        done();
      },
      end: onEnd,
    };
  }

  text(stream?: 1 | 2): string {
    const wanted = this.#chunks.filter((chunk) => stream === undefined || chunk.stream === stream);
    return Buffer.concat(wanted.map((chunk) => chunk.bytes)).toString("utf8");
  }
}
