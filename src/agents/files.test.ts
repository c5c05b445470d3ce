import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applyChange, readText, removeEmptyFolders } from "./files.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agents-files-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function change(path: string, before: string | null, after: string | null, isPrivate = false) {
  return { path, before, after, isPrivate, splices: [] };
}

describe("a file", () => {
  test("keeps its mode, and nothing is left beside it", () => {
    const path = join(folder, "a.json");
    writeFileSync(path, "old");
    chmodSync(path, 0o640);
    applyChange(change(path, "old", "new"));
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder)).toEqual(["a.json"]);
  });

  test("that is a link stays one", () => {
    const target = join(folder, "dotfiles.json");
    const link = join(folder, "link.json");
    writeFileSync(target, "old");
    symlinkSync("dotfiles.json", link);
    applyChange(change(link, "old", "new"));
    expect(readlinkSync(link)).toBe("dotfiles.json");
    expect(readFileSync(target, "utf8")).toBe("new");
  });

  test("that somebody changed meanwhile is not replaced", () => {
    const path = join(folder, "a.json");
    writeFileSync(path, "newer");
    expect(() => applyChange(change(path, "old", "new"))).toThrow(/changed by somebody else/);
    expect(readFileSync(path, "utf8")).toBe("newer");
  });

  test("is made with its folders, which go with it", () => {
    const path = join(folder, "x", "y", "a.json");
    const made = applyChange(change(path, null, "new", true));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    applyChange(change(path, "new", null));
    removeEmptyFolders(made);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("of somebody else keeps the folders that were made", () => {
    const made = applyChange(change(join(folder, "x", "a.json"), null, "new"));
    writeFileSync(join(folder, "x", "mine"), "");
    removeEmptyFolders(made);
    expect(readdirSync(join(folder, "x"))).toEqual(["a.json", "mine"]);
  });

  test("that is no text, or no file, is not read", () => {
    writeFileSync(join(folder, "binary"), Buffer.from([0xff, 0xfe]));
    mkdirSync(join(folder, "folder"));
    symlinkSync("nowhere", join(folder, "dangling"));
    expect(() => readText(join(folder, "binary"))).toThrow(/not UTF-8/);
    expect(() => readText(join(folder, "folder"))).toThrow(/not a regular file/);
    expect(() => readText(join(folder, "dangling"))).toThrow(/cannot be used/);
  });
});
