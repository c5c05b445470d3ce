import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { adoptStream } from "../../../guest/index.js";
import { GuestPort } from "./guest-port.js";

const greeting = Buffer.concat([Buffer.from([15, 0, 0, 0]), Buffer.from('{"said":"here"}')]);
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "guest-port-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What a host reads of what a machine writes. */
async function read(
  writes: (machine: Socket) => void,
): Promise<{ readonly text: string; readonly error: Error | null }> {
  const path = join(folder, "socket");
  const server = createServer(writes).listen(path);
  await once(server, "listening");
  const port = new GuestPort(adoptStream(connect(path)));
  let error: Error | null = null;
  port.on("error", (failure) => {
    error = failure;
  });
  let text = "";
  port.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  await once(port, "close").catch(() => {});
  server.close();
  return { text, error };
}

test("what follows the greeting is the guest's, however it is cut", async () => {
  const whole = Buffer.concat([greeting, Buffer.from("hello")]);
  for (const cut of [1, 4, 10, greeting.length, whole.length]) {
    const { text, error } = await read((machine) => {
      machine.write(whole.subarray(0, cut), () => machine.end(whole.subarray(cut)));
    });
    expect([text, error]).toEqual(["hello", null]);
  }
});

test("another greeting is refused", async () => {
  const { text, error } = await read((machine) => machine.end(Buffer.alloc(40, "x")));
  expect(text).toBe("");
  expect(error).toMatchObject({ code: "internal" });
});
