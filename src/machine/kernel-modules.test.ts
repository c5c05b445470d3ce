import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cpioArchive, FILE } from "./cpio.js";
import { inOrder, type KernelModule, listedModules, needsOf } from "./kernel-modules.js";

function moduleOf(name: string, needs: readonly string[]): KernelModule {
  return { name, content: Buffer.alloc(0), needs };
}

it("puts each driver behind all that it needs, once", () => {
  const known = new Map([
    ["redirect", moduleOf("redirect", ["tables", "nat"])],
    ["nat", moduleOf("nat", ["track", "crc"])],
    ["track", moduleOf("track", ["crc"])],
    ["tables", moduleOf("tables", ["crc"])],
  ]);
  // What is built in takes no place.
  const ordered = inOrder(["redirect", "tables", "crc"], (name) => known.get(name) ?? null);
  expect(ordered.map(({ name }) => name)).toEqual(["tables", "track", "nat", "redirect"]);
});

it("refuses drivers that need each other", () => {
  const read = (name: string) => moduleOf(name, [name === "a" ? "b" : "a"]);
  expect(() => inOrder(["a"], read)).toThrow("in a circle: a, b, a");
});

it("reads what a driver says that it needs, by either spelling", () => {
  const driver = (text: string) => Buffer.concat([Buffer.from([0x7f, 0x45]), Buffer.from(`x=1\0${text}\0name=n\0`)]);
  expect(needsOf(driver("depends=virtio-ring,virtio"))).toEqual(["virtio_ring", "virtio"]);
  expect(needsOf(driver("depends="))).toEqual([]);
  expect(needsOf(driver("license=GPL"))).toEqual([]);
});

it("tells what an archive has by the list at its beginning", () => {
  const folder = mkdtempSync(join(tmpdir(), "agentkernel-modules-"));
  const archive = join(folder, "modules.cpio");
  const list = { path: "modules/list", mode: FILE | 0o644, content: Buffer.from("virtio_blk.ko\nfuse.ko\n") };
  writeFileSync(
    archive,
    cpioArchive([list, { path: "modules/x.ko", mode: FILE | 0o644, content: Buffer.alloc(9000) }]),
  );
  expect(listedModules(archive)).toEqual(["virtio_blk", "fuse"]);
  rmSync(folder, { recursive: true });
});
