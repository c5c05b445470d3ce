import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { makePrivateDirectory } from "./private-directory.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "private-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const keep = (path: string) => makePrivateDirectory(path, "the cache", "XDG_CACHE_HOME");

it("makes the folder where it is not there, for its owner alone", () => {
  keep(join(folder, "a/b"));
  expect(statSync(join(folder, "a/b")).mode & 0o777).toBe(0o700);
});

it("closes one that others could write to", () => {
  mkdirSync(join(folder, "open"));
  chmodSync(join(folder, "open"), 0o777);
  keep(join(folder, "open"));
  expect(statSync(join(folder, "open")).mode & 0o777).toBe(0o755);
});

it.runIf(process.geteuid?.() === 0)("refuses one of another user's, and says what to do", () => {
  mkdirSync(join(folder, "theirs"));
  chownSync(join(folder, "theirs"), 12_345, 12_345);
  expect(() => keep(join(folder, "theirs"))).toThrow(/belongs to another user/);
});
