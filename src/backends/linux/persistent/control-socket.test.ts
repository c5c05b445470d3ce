import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ListenerThatDies } from "../../../core/testing/listener-that-dies.js";
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
  (await ListenerThatDies.at(join(folder, "control"))).die();
  expect(await connectControl(folder, () => "connected")).toBeNull();
});

test("an owner that dies before it takes the connection is nobody", async () => {
  const owner = await ListenerThatDies.at(join(folder, "control"));
  const connecting = connectControl(folder, () => "connected");
  owner.die();
  expect(await connecting).toBeNull();
});
