import { type AddressInfo, connect, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { PooledReads } from "./pooled-reads.js";

const BYTES = 8_388_608;

/** Reads from a server that sends BYTES bytes, each block with its own number all over it. */
async function readAll(take: (chunk: Buffer, release: () => void) => void): Promise<void> {
  const server = createServer((socket) => {
    for (let block = 0; block < 128; block++) socket.write(Buffer.alloc(BYTES / 128, block));
    socket.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const reads = new PooledReads((chunk, release) => {
    take(chunk, release);
    return true;
  });
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: "127.0.0.1", onread: reads.onread });
  await new Promise((resolve) => socket.once("close", resolve));
  server.close();
}

describe("pooled reads", () => {
  it("use the same buffer again once it is released", async () => {
    const buffers = new Set<ArrayBufferLike>();
    let bytes = 0;
    await readAll((chunk, release) => {
      buffers.add(chunk.buffer);
      bytes += chunk.length;
      release();
    });
    expect([bytes, buffers.size]).toEqual([BYTES, 1]);
  });

  it("never touch a chunk that is not released", async () => {
    const chunks: Buffer[] = [];
    await readAll((chunk) => chunks.push(chunk));
    const all = Buffer.concat(chunks);
    expect(all.length).toBe(BYTES);
    for (let block = 0; block < 128; block++) {
      const at = (BYTES / 128) * block;
      expect([all[at], all[at + BYTES / 128 - 1]]).toEqual([block, block]);
    }
  });
});
