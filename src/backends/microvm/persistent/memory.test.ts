import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { MachineShape } from "../shape.js";
import {
  dropTaken,
  emptyMemory,
  insistOnSame,
  marksOf,
  memoryPath,
  noteSaved,
  readSaved,
  takeSaved,
} from "./memory.js";

const folder = mkdtempSync(join(tmpdir(), "ak-memory-"));
afterAll(() => rmSync(folder, { recursive: true }));

const shape: MachineShape = {
  monitor: { kind: "qemu", program: "/usr/bin/qemu", root: "/r", accelerator: "tcg", digest: "m" },
  kernel: { kernel: "/k", initramfs: "/i", acpi: false, commandLine: "quiet", hasFuse: true, digest: "k" },
  root: { path: "/root.erofs", digest: "r" },
  memoryMib: 256,
  vcpus: 1,
  first: "{}",
  diskMib: 64,
};

describe("memory that was saved", () => {
  it("counts from its note on, and is taken once", async () => {
    mkdirSync(dirname(memoryPath(folder)), { recursive: true });
    await emptyMemory(folder);
    expect(readSaved(folder)).toBeNull();
    writeFileSync(memoryPath(folder), "saved");
    noteSaved(folder, marksOf(shape));
    expect(readSaved(folder)).toEqual(marksOf(shape));
    const taken = await takeSaved(folder);
    expect([readSaved(folder), existsSync(memoryPath(folder)), readFileSync(taken, "utf8")]).toEqual([
      null,
      false,
      "saved",
    ]);
    await expect(takeSaved(folder)).rejects.toThrow(/ENOENT/);
    await dropTaken(folder);
    expect(existsSync(taken)).toBe(false);
  });

  it("of another version is refused, with a way on", () => {
    writeFileSync(join(folder, "memory.json"), JSON.stringify({ version: 99, marks: marksOf(shape) }));
    expect(() => readSaved(folder)).toThrow(expect.objectContaining({ hint: expect.stringContaining("--no-memory") }));
  });

  it.each([
    ["another QEMU", { monitor: { ...shape.monitor, digest: "x" } }, /QEMU/],
    ["another kernel", { kernel: { ...shape.kernel, digest: "x" } }, /kernel/],
    ["another image", { root: { ...shape.root, digest: "x" } }, /image/],
    ["more memory", { memoryMib: 512 }, /limits/],
    ["another policy", { first: '{"pids":1}' }, /policy/],
  ])("cannot go on with %s", (_, changes, why) => {
    insistOnSame(marksOf(shape), { ...shape });
    const insist = () => insistOnSame(marksOf(shape), { ...shape, ...changes });
    expect(insist).toThrow(why);
    expect(insist).toThrow(
      expect.objectContaining({ code: "unsupported", hint: expect.stringContaining("--no-memory") }),
    );
  });
});
