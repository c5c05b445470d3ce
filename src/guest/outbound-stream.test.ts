import { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import { MAX_DATA_BYTES } from "./frame.js";
import { OutboundStream } from "./outbound-stream.js";
import { Outbox } from "./outbox.js";

/** A socket that takes nothing before it is told to. */
class HeldSocket extends Duplex {
  readonly #held: (() => void)[] = [];
  #isOpen = false;

  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#isOpen) done();
    else this.#held.push(done);
  }

  letGo(): void {
    this.#isOpen = true;
    for (const done of this.#held.splice(0)) done();
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

function written(chunkBytes: number, creditBytes: number) {
  const socket = new HeldSocket({ writableHighWaterMark: 1 });
  const stream = new OutboundStream(2, creditBytes, new Outbox(socket, () => {}));
  const times = { left: 0 };
  stream.write(Buffer.alloc(chunkBytes), () => times.left++);
  return { socket, stream, times };
}

describe("a chunk that was written", () => {
  it("has left when all its frames have", async () => {
    const { socket, times } = written(MAX_DATA_BYTES + 1, MAX_DATA_BYTES * 2);
    await turn();
    expect(times.left).toBe(0);
    socket.letGo();
    await turn();
    expect(times.left).toBe(1);
  });

  it("still belongs to the socket when the stream stops in the middle of it", async () => {
    const { socket, stream, times } = written(MAX_DATA_BYTES + 1, MAX_DATA_BYTES);
    stream.stop();
    await turn();
    expect(times.left).toBe(0);
    socket.letGo();
    await turn();
    expect(times.left).toBe(1);
  });

  it("is let go at once when nothing of it was sent", () => {
    const { stream, times } = written(100, 0);
    stream.stop();
    expect(times.left).toBe(1);
  });
});
