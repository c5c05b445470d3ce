import { Duplex, PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { deferred } from "../../core/deferred.js";
import type { EntryOrder } from "./order.js";
import { awaitEntry, giveOrder } from "./talk.js";

const gone = { code: "sandbox_start_failed", message: expect.stringContaining("ended before") };

it("who is waited for on a stream that was given up before is not waited for", async () => {
  const stream = new PassThrough();
  stream.destroy();
  await new Promise((resolve) => stream.once("close", resolve));
  await expect(awaitEntry(stream)).rejects.toMatchObject(gone);
});

it("nor on one that ended, or ends", async () => {
  const ended = new PassThrough();
  ended.resume().end();
  await new Promise((resolve) => ended.once("end", resolve));
  await expect(awaitEntry(ended)).rejects.toMatchObject(gone);
  const ending = new PassThrough();
  const waiting = awaitEntry(ending);
  ending.end("ab");
  await expect(waiting).rejects.toMatchObject(gone);
});

it("who cannot even wait for an order says why", async () => {
  const stream = new PassThrough();
  const text = JSON.stringify({ said: "failed", code: "sandbox_start_failed", message: "no guest", hint: "look" });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  stream.write(Buffer.concat([length, Buffer.from(text)]));
  await expect(awaitEntry(stream)).rejects.toMatchObject({ code: "sandbox_start_failed", message: "no guest" });
});

const order = { version: 1 } as unknown as EntryOrder;

/** One that takes what is written, when there is room, and what it says. */
function entry(hasRoom = true) {
  const written: string[] = [];
  const waiting = deferred<void>();
  if (hasRoom) waiting.resolve();
  const stream = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.subarray(4).toString());
      void waiting.promise.then(() => done());
    },
  });
  const say = (what: object) => {
    const text = Buffer.from(JSON.stringify(what));
    const header = Buffer.alloc(4);
    header.writeUInt32LE(text.length);
    stream.push(Buffer.concat([header, text]));
  };
  return { stream, written, say, room: waiting.resolve };
}

it("an order is sent before anybody is there to hear it, and what follows is the guest's", async () => {
  const { stream, written, say } = entry();
  const here = awaitEntry(stream);
  const delivered = deferred<void>();
  const begun = giveOrder(stream, { order, views: [], hide: [], here, onDelivered: delivered.resolve });
  await delivered.promise;
  expect(written).toEqual([JSON.stringify(order)]);
  say({ said: "here" });
  say({ said: "started", layers: [] });
  expect(await begun).toEqual({ layers: [], listing: null });
});

it("one that is refused before all of it is sent is not called delivered", async () => {
  const { stream, say, room } = entry(false);
  const here = awaitEntry(stream);
  let isDelivered = false;
  const onDelivered = () => {
    isDelivered = true;
  };
  const begun = giveOrder(stream, { order, views: [], hide: [], here, onDelivered });
  say({ said: "here" });
  say({ said: "failed", code: "sandbox_start_failed", message: "no guest" });
  await expect(begun).rejects.toMatchObject({ code: "sandbox_start_failed", message: "no guest" });
  room();
  await new Promise((resolve) => setImmediate(resolve));
  expect(isDelivered).toBe(false);
});
