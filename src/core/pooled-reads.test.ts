import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { ReadPool, readPooled, type TakeChunk } from "./pooled-reads.js";

const BYTES = 16_777_216;
const BLOCKS = 128;

/** A connection to a server that sends BYTES bytes once it is written to, each block with its own number all over it. */
async function pooledConnection(pool: ReadPool, take: TakeChunk): Promise<Socket> {
  const server = createServer((socket) => {
    // A client that leaves early is part of what is tested.
    socket.on("error", () => {});
    socket.once("data", () => {
      for (let block = 0; block < BLOCKS; block++) socket.write(Buffer.alloc(BYTES / BLOCKS, block));
      socket.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const dialled = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  await once(dialled, "connect");
  server.close();
  const pooled = readPooled(dialled, pool, take);
  if (pooled === null) throw new Error("the handle could not be taken");
  return pooled;
}

async function readAll(take: (chunk: Buffer, release: () => void) => void): Promise<void> {
  const socket = await pooledConnection(new ReadPool(), (chunk, release) => {
    take(chunk, release);
    return true;
  });
  socket.end("go");
  await once(socket, "close");
}

describe("pooled reads", () => {
  it("use the same buffers again once they are released", async () => {
    const buffers = new Set<ArrayBufferLike>();
    let bytes = 0;
    await readAll((chunk, release) => {
      buffers.add(chunk.buffer);
      bytes += chunk.length;
      release();
    });
    expect([bytes, buffers.size]).toEqual([BYTES, 2]);
  });

  it("never touch a chunk that is not released", async () => {
    const chunks: Buffer[] = [];
    await readAll((chunk) => chunks.push(chunk));
    const all = Buffer.concat(chunks);
    expect(all.length).toBe(BYTES);
    for (let block = 0; block < BLOCKS; block++) {
      const at = (BYTES / BLOCKS) * block;
      expect([all[at], all[at + BYTES / BLOCKS - 1]]).toEqual([block, block]);
    }
  });

  it("stop with a large chunk ahead of one that is not taken, and go on when it is released", async () => {
    const held: (() => void)[] = [];
    let wake = () => {};
    const socket = await pooledConnection(new ReadPool(), (chunk, release) => {
      // Small ones are only the way to the first full one.
      if (chunk.buffer.byteLength < 100_000) {
        release();
        return true;
      }
      held.push(release);
      wake();
      return false;
    });
    const grown = (count: number) =>
      new Promise<void>((resolve) => {
        wake = () => held.length >= count && resolve();
        wake();
      });
    socket.write("go");
    await grown(2);
    await new Promise((resolve) => setImmediate(resolve));
    expect(held.length).toBe(2);
    held[0]?.();
    await grown(3);
    socket.destroy();
  });

  it("refuse a socket that has been read from already", async () => {
    const server = createServer((socket) => socket.end("early"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const dialled = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
    await once(dialled, "readable");
    expect(readPooled(dialled, new ReadPool(), () => true)).toBeNull();
    expect(String(dialled.read())).toBe("early");
    dialled.destroy();
    server.close();
  });
});
