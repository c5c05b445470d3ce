import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sendTask } from "./task.js";

let folder: string;
let supervisor: ChildProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "task-"));
});
afterEach(() => {
  supervisor?.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Takes a connection, and is gone from it. */
const ENDING = `
  const server = require("node:net").createServer((socket) => {
    socket.on("close", () => require("node:fs").writeFileSync("gone", "")).destroy();
  });
  server.listen("control", () => console.log("listens"));
`;

test("a supervisor that ends before it has heard of a task is told as that, and harms nobody else", async () => {
  supervisor = spawn(process.execPath, ["-e", ENDING], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  await once(supervisor.stdout as NodeJS.ReadableStream, "data");
  const sent = sendTask(folder, "sync");
  // Connected by now. Nothing of ours runs until the other is gone, so the first line finds nobody.
  execFileSync("sh", ["-c", "until [ -e gone ]; do sleep 0.01; done"], { cwd: folder, timeout: 60_000 });
  await expect(sent).rejects.toMatchObject({ code: "sandbox_died" });
});
