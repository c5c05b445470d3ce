import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { CHARACTER_DEVICE, cpioArchive, FILE, FOLDER } from "./cpio.js";

it("writes what the tool for such archives reads, one archive behind the other", () => {
  const first = cpioArchive([
    { path: "dev", mode: FOLDER | 0o755 },
    { path: "dev/null", mode: CHARACTER_DEVICE | 0o666, device: [1, 3] },
  ]);
  const second = cpioArchive([{ path: "init", mode: FILE | 0o755, content: Buffer.from("12345") }]);
  expect(listed(first)).toEqual(["drwxr-xr-x dev", "crw-rw-rw- dev/null"]);
  expect(listed(second)).toEqual(["-rwxr-xr-x init 5"]);
  expect((first.length + second.length) % 4).toBe(0);
});

it("is the same bytes for the same entries", () => {
  const made = () => cpioArchive([{ path: "a", mode: FILE | 0o644, content: Buffer.from("x") }]);
  expect(made()).toEqual(made());
});

/** By Busybox: mode and name, and how long a file is. */
function listed(archive: Buffer): string[] {
  const { stdout, status } = spawnSync("busybox", ["cpio", "-tv"], { input: archive, encoding: "utf8" });
  expect(status).toBe(0);
  return stdout
    .trim()
    .split("\n")
    .map((line) => {
      const [mode = "", , size, , , name] = line.trim().split(/\s+/);
      return mode.startsWith("-") ? `${mode} ${name} ${size}` : `${mode} ${name}`;
    });
}
