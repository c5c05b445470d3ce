import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileLog, MAX_LOG_BYTES } from "./log.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-log-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the daemon's log", () => {
  it("has one line for each thing that is said, with its time, whatever is in it", () => {
    const path = join(folder, "deep", "daemon.log");
    const log = new FileLog(path);
    log.say("one\ntwo\u001b[2J");
    expect(readFileSync(path, "utf8")).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z one\\ntwo\\x1b\[2J\n$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("is put aside when it is large, and the oldest are dropped", () => {
    const path = join(folder, "daemon.log");
    const log = new FileLog(path);
    const line = "x".repeat(MAX_LOG_BYTES);
    for (let count = 0; count < 8; count++) log.say(line);
    expect(readdirSync(folder).sort()).toEqual(["daemon.log", "daemon.log.1", "daemon.log.2", "daemon.log.3"]);
  });

  it("that cannot be written loses lines, and counts them", () => {
    const log = new FileLog("/dev/full");
    log.say("lost");
    expect(log.lost).toBe(1);
  });
});
