import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
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
  const listens = "import socket,sys,time; s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(1)";
  const words = ["-c", `${listens}; print(1, flush=True); time.sleep(60)`, place.socketPath];
  const daemon = spawn("python3", words, { stdio: ["ignore", "pipe", "inherit"] });
  await once(daemon.stdout, "data");
  const asked = askDaemon(place, "GET", "/daemon");
  daemon.kill("SIGKILL");
  // Without a turn of the event loop, which would see the connection made.
  while (!/\) Z /.test(readFileSync(`/proc/${daemon.pid}/stat`, "latin1"))) pause();
  expect(await asked).toBeNull();
});

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
}
