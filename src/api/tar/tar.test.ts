import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tarEntries } from "./read.js";
import { tarEnd, tarHeader, tarPadding } from "./write.js";

async function read(archive: Buffer, chunkBytes: number) {
  async function* chunks() {
    for (let at = 0; at < archive.length; at += chunkBytes) yield archive.subarray(at, at + chunkBytes);
  }
  const found: { name: string; type: string; mode: number; content: Buffer }[] = [];
  for await (const { name, type, mode, content } of tarEntries(chunks())) {
    const parts: Buffer[] = [];
    for await (const part of content) parts.push(Buffer.from(part));
    found.push({ name, type, mode, content: Buffer.concat(parts) });
  }
  return found;
}

function archiveOf(
  files: readonly { readonly name: string; readonly mode: number; readonly content: Uint8Array }[],
): Buffer {
  const entries = files.flatMap(({ name, mode, content }) => [
    tarHeader({ name, type: "0", mode, mtimeMs: 1_700_000_000_000, sizeBytes: content.length }),
    Buffer.from(content),
    tarPadding(content.length),
  ]);
  return Buffer.concat([...entries, tarEnd]);
}

describe("an archive", () => {
  it("is read as it was written, names of any length and in any pieces", async () => {
    const name = fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 300 })
      .filter((text) => !/[\0\n]|\/$/.test(text));
    const file = fc.record({
      name,
      mode: fc.integer({ min: 0, max: 0o777 }),
      content: fc.uint8Array({ maxLength: 2000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(file, { maxLength: 5 }),
        fc.integer({ min: 1, max: 5000 }),
        async (files, chunkBytes) => {
          const expected = files.map(({ content, ...rest }) => ({
            ...rest,
            type: "file",
            content: Buffer.from(content),
          }));
          expect(await read(archiveOf(files), chunkBytes)).toEqual(expected);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("that is cut, changed or none at all is refused, or has an end", async () => {
    const whole = archiveOf([{ name: "a", mode: 0o644, content: new Uint8Array(700) }]);
    await expect(read(whole.subarray(0, 900), 100)).rejects.toThrow(/ends within a file/);
    await expect(read(whole.subarray(0, 300), 100)).rejects.toThrow(/ends too early/);
    const changed = Buffer.from(whole);
    changed[3] = 0x41;
    await expect(read(changed, 512)).rejects.toThrow(/checksum/);
    await expect(read(Buffer.alloc(600, "x"), 512)).rejects.toMatchObject({ code: "invalid_argument" });
    expect(await read(Buffer.alloc(0), 1)).toEqual([]);
  });

  it("tells links and devices apart from files", async () => {
    const link = tarHeader({ name: "l", type: "2", mode: 0o777, mtimeMs: 0, sizeBytes: 0, linkName: "x".repeat(200) });
    const folder = tarHeader({ name: "d/", type: "5", mode: 0o755, mtimeMs: 0, sizeBytes: 0 });
    const found = await read(Buffer.concat([link, folder, tarEnd]), 512);
    expect(found.map(({ name, type }) => `${type} ${name}`)).toEqual(["other l", "dir d/"]);
  });
});
