import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { COMPILED_NAME, ModuleCache } from "./module-cache.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-modules-"));
  writeFileSync(join(folder, "worker"), "one");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const cacheIn = () => new ModuleCache({ folder: join(folder, "cache"), workerBinary: join(folder, "worker") });
const read = () => Buffer.from("module");

describe("compiled modules", () => {
  it("are compiled once, also for those who ask at the same time", async () => {
    const cache = cacheIn();
    let times = 0;
    const compile = async () => {
      times += 1;
      return [Buffer.from("com"), Buffer.from("piled")];
    };
    const [one, two] = await Promise.all([cache.folderOf("d", read, compile), cache.folderOf("d", read, compile)]);
    expect(one).toBe(two);
    expect(readFileSync(join(one, COMPILED_NAME), "utf8")).toBe("compiled");
    await cacheIn().folderOf("d", read, compile);
    expect(times).toBe(1);
  });

  it("of another worker are not used", async () => {
    let times = 0;
    const compile = async () => {
      times += 1;
      return [Buffer.from("x")];
    };
    await cacheIn().folderOf("d", read, compile);
    writeFileSync(join(folder, "worker"), "another");
    await cacheIn().folderOf("d", read, compile);
    expect(times).toBe(2);
  });

  it("that could not be made leave nothing, and are tried again", async () => {
    const cache = cacheIn();
    await expect(cache.folderOf("d", read, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    const made = await cache.folderOf("d", read, async () => [Buffer.from("x")]);
    expect(readdirSync(join(made, ".."))).toEqual(["d"]);
    cache.drop("d");
    expect(readdirSync(join(made, ".."))).toEqual([]);
  });

  it("are not taken from a folder that others may write", async () => {
    const cache = cacheIn();
    await cache.folderOf("d", read, async () => [Buffer.from("x")]);
    chmodSync(join(folder, "cache"), 0o777);
    await expect(cache.folderOf("d", read, async () => [])).rejects.toThrow("can be written by others");
  });
});
