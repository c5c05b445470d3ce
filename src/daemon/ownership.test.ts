import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { processMark } from "../core/process-mark.js";
import { takeOwnership } from "./ownership.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-ownership-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the ownership of the socket", () => {
  it("is had by one process, and by the next when it is given up", () => {
    const first = takeOwnership(folder);
    expect(first).not.toBeNull();
    expect(takeOwnership(folder)).toBeNull();
    first?.release();
    expect(takeOwnership(folder)).not.toBeNull();
  });

  it("passes on from a process that died", () => {
    takeOwnership(folder);
    const owner = join(folder, "owner");
    const [entry = ""] = readdirSync(owner);
    const { pid } = spawnSync("true");
    const dead = entry.replace(/^([0-9a-f]+-\d+)-\d+/, `$1-${pid}`);
    renameSync(join(owner, entry), join(owner, dead));
    expect(takeOwnership(folder)).not.toBeNull();
    expect(readdirSync(owner)).toEqual([expect.stringContaining(`-${process.pid}-`)]);
  });

  it("passes on from before the machine was started", () => {
    takeOwnership(folder);
    const owner = join(folder, "owner");
    const [entry = ""] = readdirSync(owner);
    renameSync(join(owner, entry), join(owner, entry.replace(processMark().boot, "000000000000")));
    expect(takeOwnership(folder)).not.toBeNull();
  });
});
