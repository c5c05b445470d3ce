import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { adoptStream, type Lent, readerOf } from "./socket-reader.js";

/** A child that echoes descriptor 3 back on it, until its end. */
function echoChild() {
  const child = spawn("sh", ["-c", "exec cat <&3 >&3"], { stdio: ["ignore", "ignore", "inherit", "pipe"] });
  return { child, made: child.stdio[3] as Socket };
}

describe("an adopted socket", () => {
  it("is another socket over the same stream, and the child still closes", async () => {
    const { child, made } = echoChild();
    const closed = new Promise((resolve) => child.once("close", resolve));
    const socket = adoptStream(made);
    expect(socket).not.toBe(made);
    const got = new Promise<string>((resolve) => readerOf(socket).start((chunk) => resolve(String(chunk))));
    socket.write("hello");
    expect(await got).toBe("hello");
    socket.destroy();
    await closed;
  });

  it("keeps what arrives before anyone reads", async () => {
    const { made } = echoChild();
    const socket = adoptStream(made);
    await new Promise<void>((resolve) => socket.write("early", () => resolve()));
    while (socket.bytesRead < 5) await new Promise((resolve) => setImmediate(resolve));
    const reader = readerOf(socket);
    const got = new Promise<string>((resolve) => reader.start((chunk) => resolve(String(chunk))));
    expect(await got).toBe("early");
    socket.destroy();
  });

  it("does not write over a chunk that is held, and lends only a few buffers", async () => {
    const { made } = echoChild();
    const socket = adoptStream(made);
    const reader = readerOf(socket);
    const chunks: Buffer[] = [];
    const held: (Lent | null)[] = [];
    let wake: () => void = () => {};
    reader.start((chunk) => {
      chunks.push(chunk);
      held.push(reader.hold());
      wake();
    });
    for (let at = 0; at < 6; at++) {
      const arrived = new Promise<void>((resolve) => {
        wake = resolve;
      });
      socket.write(`chunk ${at}`);
      await arrived;
    }
    expect(held.map((lent) => lent !== null)).toEqual([true, true, true, true, false, false]);
    expect(chunks.slice(0, 4).map(String)).toEqual(["chunk 0", "chunk 1", "chunk 2", "chunk 3"]);
    expect(new Set(chunks.slice(0, 5).map((chunk) => chunk.buffer)).size).toBe(5);
    for (const lent of held) lent?.release();
    expect(reader.hold()).not.toBeNull();
    socket.destroy();
  });
});
