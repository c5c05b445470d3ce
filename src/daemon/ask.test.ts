import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ListenerThatDies } from "../core/testing/listener-that-dies.js";
import { askDaemon } from "./ask.js";
import type { DaemonPlace } from "./socket-place.js";

let place: DaemonPlace;
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), "ask-"));
  place = { folder, socketName: "s", socketPath: join(folder, "s"), logPath: join(folder, "log") };
});
afterEach(() => rm(place.folder, { recursive: true }));

test("where there is no socket, no daemon is up", async () => {
  expect(await askDaemon(place, "GET", "/daemon")).toBeNull();
});

test("a daemon that dies before it takes the connection is not up", async () => {
  const daemon = await ListenerThatDies.at(place.socketPath);
  const asked = askDaemon(place, "GET", "/daemon");
  daemon.die();
  expect(await asked).toBeNull();
});
