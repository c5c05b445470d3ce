import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { awaitEntry } from "./talk.js";

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
