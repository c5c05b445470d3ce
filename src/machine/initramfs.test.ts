import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { nativeBinary } from "../core/native-binary.js";
import { ensureInitramfs } from "./initramfs.js";
import type { KernelSet } from "./kernel-set.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-initramfs-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function kernel(digest: string, modules: string | null = null): KernelSet {
  return { folder, name: "k", kernel: "/none", modules, acpi: false, commandLine: "", hasFuse: true, digest };
}

it("has our programs, and the drivers behind them", () => {
  const modules = join(folder, "modules.cpio");
  writeFileSync(modules, "drivers");
  const content = readFileSync(ensureInitramfs(kernel("a", modules), folder).path);
  for (const name of ["ak-init", "ak-entry", "ak-guest"] as const) {
    expect(content.includes(readFileSync(nativeBinary(name)))).toBe(true);
  }
  expect(content.subarray(-"drivers".length).toString()).toBe("drivers");
});

it("is made once for a kernel and a build, and again where its file was lost", () => {
  const first = ensureInitramfs(kernel("a"), folder);
  expect(ensureInitramfs(kernel("a"), folder)).toEqual(first);
  expect(ensureInitramfs(kernel("b"), folder).path).not.toBe(first.path);
  expect(ensureInitramfs(kernel("b"), folder).digest).toBe(first.digest);
  rmSync(join(first.path, ".."), { recursive: true });
  expect(ensureInitramfs(kernel("a"), folder)).toEqual(first);
});

it("leaves no more than a few behind, the newest", () => {
  const made = ["a", "b", "c", "d", "e", "f"].map((digest, index) => {
    const { path } = ensureInitramfs(kernel(digest), folder);
    // As if each had been used at a time of its own.
    utimesSync(join(path, ".."), index + 1, index + 1);
    return path;
  });
  const left = readdirSync(join(folder, "initramfs"));
  expect(left).toHaveLength(4);
  expect(left).toContain(made.at(-1)?.split("/").at(-2));
  expect(left).not.toContain(made[0]?.split("/").at(-2));
});
