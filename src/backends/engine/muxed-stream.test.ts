import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { MuxedStream } from "./muxed-stream.js";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Both ends of a connection, as an engine's client has one. */
async function pair(): Promise<{ readonly engine: Socket; readonly ours: Socket }> {
  const folder = mkdtempSync(join(tmpdir(), "muxed-"));
  folders.push(folder);
  const path = join(folder, "s");
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  const ours = connect(path);
  const engine = await accepted;
  server.close();
  return { engine, ours };
}

function frame(stream: number, text: string): Buffer {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

test("stdout is what is read, whole and in order, however the engine cuts it", async () => {
  const { engine, ours } = await pair();
  const stream = new MuxedStream(ours);
  const sent = Buffer.concat([frame(1, "first "), frame(2, "complaint"), frame(1, ""), frame(1, "second")]);
  for (const byte of sent) engine.write(Buffer.from([byte]));
  engine.end();
  expect(Buffer.concat(await stream.toArray()).toString()).toBe("first second");
  expect(stream.words).toBe("complaint");
});

test("what is written is the process's stdin, and its end", async () => {
  const { engine, ours } = await pair();
  const stream = new MuxedStream(ours);
  stream.write("a");
  stream.end("b");
  const got: Buffer[] = [];
  for await (const chunk of engine) got.push(chunk as Buffer);
  expect(Buffer.concat(got).toString()).toBe("ab");
  stream.destroy();
});

test("nobody reads: the engine's connection waits, and nothing is lost", async () => {
  const { engine, ours } = await pair();
  const stream = new MuxedStream(ours);
  const paused = new Promise<void>((resolve) => ours.once("pause", resolve));
  const block = frame(1, "x".repeat(1 << 20));
  for (let count = 0; count < 16; count++) engine.write(block);
  await paused;
  expect(stream.readableLength).toBeLessThan(4 << 20);
  engine.end();
  expect(Buffer.concat(await stream.toArray())).toHaveLength(16 << 20);
});

test("a preface is heard by somebody else, and what follows it by whoever reads the stream", async () => {
  const { engine, ours } = await pair();
  const stream = new MuxedStream(ours);
  const preface = stream.beginPreface();
  const whole = stream.toArray();
  const heard = once(preface, "readable");
  engine.write(Buffer.concat([frame(1, "here"), frame(2, "complaint"), frame(1, "guest")]));
  await heard;
  expect(String(preface.read(4))).toBe("here");
  const ended = once(ours, "end");
  engine.end();
  await ended;
  stream.endPreface();
  expect(Buffer.concat(await whole).toString()).toBe("guest");
});

test("both sides write to the same place, in the order in which they do", async () => {
  const { engine, ours } = await pair();
  const stream = new MuxedStream(ours);
  const preface = stream.beginPreface();
  preface.write("order");
  stream.write(" frames");
  stream.end();
  expect(Buffer.concat(await engine.toArray()).toString()).toBe("order frames");
});

test("a connection that is cut ends a preface as well", async () => {
  const { engine, ours } = await pair();
  const stream = new MuxedStream(ours);
  const preface = stream.beginPreface();
  const closed = once(preface, "close");
  engine.destroy();
  await closed;
  expect(stream.destroyed).toBe(true);
});
