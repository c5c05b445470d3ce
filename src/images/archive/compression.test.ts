import { execFileSync } from "node:child_process";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noise } from "../../../test/support/registry-image.js";
import { isAgentKernelError } from "../../core/errors.js";
import { compressionOf, defaultUnpackLimits, type UnpackLimits, uncompressed } from "./compression.js";

const content = Buffer.concat([noise(300_000, "a"), Buffer.alloc(700_000, "text "), noise(10, "b")]);
const zstd = (bytes: Buffer, ...words: string[]): Buffer =>
  execFileSync("zstd", ["-q", "-c", ...words], { input: bytes, maxBuffer: 1e9 });

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function unpack(
  bytes: Buffer,
  kind: "gzip" | "zstd" | "none",
  limits?: UnpackLimits,
  piece = 9999,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of uncompressed(inPieces(bytes, piece), kind, limits)) parts.push(part);
  return Buffer.concat(parts);
}

describe("compressed bytes", () => {
  it.each<[string, () => Buffer, "gzip" | "zstd"]>([
    ["gzip", () => gzipSync(content), "gzip"],
    [
      "gzip in several members",
      () => Buffer.concat([gzipSync(content.subarray(0, 5)), gzipSync(content.subarray(5))]),
      "gzip",
    ],
    ["zstd", () => zstd(content), "zstd"],
    ["zstd with a checksum and much effort", () => zstd(content, "--check", "-19"), "zstd"],
    ["zstd without a checksum", () => zstd(content, "--no-check"), "zstd"],
    ["zstd in several frames", () => Buffer.concat([zstd(content.subarray(0, 7)), zstd(content.subarray(7))]), "zstd"],
    ["zstd behind a frame to skip", () => Buffer.concat([skippable(20_000), zstd(content)]), "zstd"],
  ])("%s come out as they went in", async (_name, pack, kind) => {
    const bytes = pack();
    expect(compressionOf(bytes)).toBe(kind);
    expect((await unpack(bytes, kind)).equals(content)).toBe(true);
    expect((await unpack(bytes.subarray(0), kind, undefined, 1000)).equals(content)).toBe(true);
  });

  it("that are none at all are told apart", () => {
    expect(compressionOf(content)).toBe("none");
    expect(compressionOf(Buffer.alloc(0))).toBe("none");
    expect(compressionOf(Buffer.from("fd377a585a00", "hex"))).toBe("xz");
    expect(compressionOf(Buffer.from("BZh9"))).toBe("bzip2");
  });

  it.each(["gzip", "zstd"] as const)("of %s that are cut or changed are an invalid image", async (kind) => {
    const whole = kind === "gzip" ? gzipSync(content) : zstd(content);
    await expect(unpack(whole.subarray(0, 5000), kind)).rejects.toMatchObject({ code: "image_invalid" });
    const changed = Buffer.from(whole).fill(0x55, 3, 12);
    await expect(unpack(changed, kind)).rejects.toMatchObject({ code: "image_invalid" });
  });

  it.each(["gzip", "zstd"] as const)("of %s that unpack to a thousandfold are refused", async (kind) => {
    const zeros = Buffer.alloc(40_000_000);
    const bomb = kind === "gzip" ? gzipSync(zeros) : zstd(zeros);
    const limits = { ...defaultUnpackLimits, freeBytes: 1_000_000 };
    await expect(unpack(bomb, kind, limits, 1000)).rejects.toThrow(/bomb|unpacks to more/);
    await expect(unpack(bomb, kind, { ...defaultUnpackLimits, maxBytes: 1_000_000 })).rejects.toThrow(
      /unpacks to more/,
    );
  });

  it("of zstd that ask for gigabytes of memory are refused before they get them", async () => {
    const frame = Buffer.concat([Buffer.from("28b52ffd00", "hex"), Buffer.from([0xff]), Buffer.from("010000", "hex")]);
    await expect(unpack(frame, "zstd")).rejects.toMatchObject({ code: "image_invalid" });
  });

  it("of any kind are read to the end or to one kind of error", async () => {
    const seeds = [zstd(content.subarray(0, 2000)), gzipSync(content.subarray(0, 2000))];
    await fc.assert(
      fc.asyncProperty(
        fc.nat(1),
        fc.array(fc.tuple(fc.nat(5000), fc.nat(255)), { maxLength: 5 }),
        async (which, changes) => {
          const bytes = Buffer.from(seeds[which] ?? "");
          for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
          try {
            await unpack(bytes, which === 0 ? "zstd" : "gzip", { ...defaultUnpackLimits, maxBytes: 10_000_000 });
          } catch (error) {
            expect(isAgentKernelError(error)).toBe(true);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

function skippable(length: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(0x184d2a5e, 0);
  head.writeUInt32LE(length, 4);
  return Buffer.concat([head, Buffer.alloc(length, 1)]);
}
