import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectControl } from "./control-socket.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "control-socket-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("where somebody listens it is connected", async () => {
  const server = createServer((socket) => socket.end("here")).listen(join(folder, "control"));
  await once(server, "listening");
  const socket = (await connectControl(folder, (connected) => connected)) as Socket;
  expect(String(await once(socket, "data"))).toBe("here");
  socket.destroy();
  server.close();
});

test("without a socket there is nobody", async () => {
  expect(await connectControl(folder, () => "connected")).toBeNull();
});

test("a socket whose owner died is nobody", async () => {
  const owner = await ownerThatTakesNothing();
  owner.kill("SIGKILL");
  await once(owner, "exit");
  expect(await connectControl(folder, () => "connected")).toBeNull();
});

test("an owner that dies before it takes the connection is nobody", async () => {
  const owner = await ownerThatTakesNothing();
  const connecting = connectControl(folder, () => "connected");
  owner.kill("SIGKILL");
  // Without a turn of the event loop, which would see the connection made.
  while (!/\) Z /.test(readFileSync(`/proc/${owner.pid}/stat`, "latin1"))) pause();
  expect(await connecting).toBeNull();
});

async function ownerThatTakesNothing() {
  const program = `
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(1)
print("listening", flush=True)
time.sleep(60)`;
  const owner = spawn("python3", ["-c", program, join(folder, "control")], { stdio: ["ignore", "pipe", "inherit"] });
  await once(owner.stdout, "data");
  return owner;
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
}
