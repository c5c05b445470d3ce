import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { sign, tarArchive, tarEntry } from "../../../test/support/tar-archive.js";
import { isAgentKernelError } from "../../core/errors.js";
import { readAll } from "./content.js";
import { tarFileHeader } from "./tar-header.js";
import { MAX_ENTRIES, TarIndex } from "./tar-index.js";

let folder = "";
const files: FileHandle[] = [];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-tar-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(async () => {
  for (const file of files.splice(0)) await file.close();
});

async function indexOf(bytes: Buffer): Promise<TarIndex> {
  const path = join(folder, "archive.tar");
  writeFileSync(path, bytes);
  const file = await open(path, "r");
  files.push(file);
  return await TarIndex.read(file, bytes.length);
}

async function textOf(index: TarIndex, name: string): Promise<string | null> {
  const content = await index.find(name);
  return content === null ? null : ((await readAll(content, 1_000_000))?.toString() ?? "too large");
}

describe("an index of an archive", () => {
  it.each(["ustar", "pax", "gnu", "oldgnu", "v7"])("finds files in the form that tar calls %s", async (format) => {
    const tree = mkdtempSync(join(folder, "tree-"));
    mkdirSync(join(tree, "d"));
    writeFileSync(join(tree, "d", "file"), "content");
    symlinkSync("d/file", join(tree, "link"));
    const bytes = execFileSync("tar", ["-C", tree, `--format=${format}`, "-cf", "-", "."]);
    const index = await indexOf(bytes);
    expect([await textOf(index, "d/file"), await textOf(index, "link")]).toEqual(["content", "content"]);
    expect(await textOf(index, "d/other")).toBeNull();
  });

  it.each(["pax", "gnu"])("finds names too long for a header, as %s writes them", async (format) => {
    const tree = mkdtempSync(join(folder, "tree-"));
    const name = "n".repeat(200);
    writeFileSync(join(tree, name), "long");
    const index = await indexOf(execFileSync("tar", ["-C", tree, `--format=${format}`, "-cf", "-", name]));
    expect(await textOf(index, name)).toBe("long");
  });

  it("takes the later of two entries of one name, as tar does", async () => {
    const index = await indexOf(
      tarArchive([
        { name: "a", content: "1" },
        { name: "./a", content: "2" },
      ]),
    );
    expect(await textOf(index, "a")).toBe("2");
  });

  it.each([
    ["a symbolic link out of the archive", { name: "a/x", type: "2", link: "../../../etc/passwd" }],
    ["an absolute symbolic link", { name: "a/x", type: "2", link: "/etc/passwd" }],
    ["a hard link out of the archive", { name: "a/x", type: "1", link: "../etc/passwd" }],
    ["a link to itself", { name: "a/x", type: "2", link: "x" }],
    ["a name that climbs", { name: "../a/x", content: "outside" }],
    ["an absolute name", { name: "/a/x", content: "outside" }],
    ["a device", { name: "a/x", type: "3" }],
  ])("has nothing under a name that is %s", async (_name, entry) => {
    expect(await textOf(await indexOf(tarArchive([entry])), "a/x")).toBeNull();
  });

  it("follows a link to another layer, as old archives of Docker have them", async () => {
    const index = await indexOf(
      tarArchive([
        { name: "b/layer.tar", type: "2", link: "../a/layer.tar" },
        { name: "a/layer.tar", content: "layer" },
      ]),
    );
    expect(await textOf(index, "b/layer.tar")).toBe("layer");
  });

  it.each<[string, () => Buffer, RegExp]>([
    ["ends in the middle of a header", () => tarArchive([{ name: "a", content: "x" }]).subarray(0, 300), /header/],
    [
      "ends in the middle of a file",
      () => tarEntry({ name: "a", content: "x".repeat(2000) }).subarray(0, 1024),
      /entry/,
    ],
    ["has a broken checksum", () => tarEntry({ name: "a" }).fill(0x41, 0, 1), /checksum/],
    ["has a size that is none", () => withSize("99999999999\0"), /size/],
    ["has a size beyond all bounds", () => withSize("\xff".repeat(12)), /size/],
    [
      "has an extension that lies about its length",
      () => tarArchive([{ name: "p", type: "x", content: "99 path=a\n" }, { name: "a" }]),
      /extension/,
    ],
    ["is empty", () => Buffer.alloc(0), /header/],
  ])("refuses an archive that %s", async (_name, bytes, message) => {
    await expect(indexOf(bytes())).rejects.toMatchObject({
      code: "image_invalid",
      message: expect.stringMatching(message),
    });
  });

  it("refuses an archive of a million entries", async () => {
    const block = tarFileHeader("a", 0);
    const bytes = Buffer.alloc(block.length * (MAX_ENTRIES + 1));
    for (let at = 0; at < bytes.length; at += block.length) block.copy(bytes, at);
    await expect(indexOf(bytes)).rejects.toThrow(/more than 500000 entries/);
  }, 60_000);

  it("reads any bytes to an index or to one kind of error", async () => {
    const whole = tarArchive([
      { name: "p", type: "x", content: "18 path=manifest\n1" },
      { name: "manifest.json", content: "[]" },
      { name: "l", type: "2", link: "manifest.json" },
    ]);
    const change = fc.record({ at: fc.nat(whole.length - 1), byte: fc.nat(255), signed: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 6 }), fc.nat(whole.length), async (changes, length) => {
        const bytes = Buffer.from(whole);
        for (const { at, byte, signed } of changes) {
          bytes[at] = byte;
          if (signed) sign(bytes.subarray(at - (at % 512), at - (at % 512) + 512));
        }
        try {
          await textOf(await indexOf(bytes.subarray(0, length)), "manifest.json");
        } catch (error) {
          expect(isAgentKernelError(error)).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
  });
});

function withSize(text: string): Buffer {
  const bytes = tarEntry({ name: "a" });
  bytes.write(text, 124, "latin1");
  sign(bytes);
  return bytes;
}
