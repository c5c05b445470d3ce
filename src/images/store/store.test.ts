import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { noise, sha256 } from "../../../test/support/registry-image.js";
import { ownMark } from "../../core/process-mark.js";
import { digestHex } from "../digest.js";
import { hostPlatform, platformText } from "../platform.js";
import { canonicalForm, parseReference } from "../reference.js";
import { type ImageRecord, ImageStore } from "./index.js";
import type { PartialBlob } from "./partial-blob.js";
import { findReady, layerFolder, readyPath } from "./ready.js";

let root = "";
let store: ImageStore;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "agentkernel-store-"));
  store = await ImageStore.open(root);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const content = noise(100_000, "content");
const blob = { digest: sha256(content), sizeBytes: content.length };
const rest =
  (from = content) =>
  (into: PartialBlob) =>
    into.write(Buffer.from(from.subarray(into.offset)));
const parts = (): string[] => readdirSync(join(root, "partial"));

describe("a blob", () => {
  it("is not to be seen before it is whole", async () => {
    await store.blobs.ensure(blob, async (into) => {
      await into.write(Buffer.from(content.subarray(0, 50_000)));
      expect(existsSync(store.blobs.path(blob.digest))).toBe(false);
      await into.write(Buffer.from(content.subarray(50_000)));
      expect(existsSync(store.blobs.path(blob.digest))).toBe(false);
    });
    expect(await store.blobs.read(blob.digest)).toEqual(content);
    expect(parts()).toEqual([]);
  });

  it("is downloaded once by many who want it, and all are told how far it is", async () => {
    let downloads = 0;
    const others = await Promise.all([ImageStore.open(root), ImageStore.open(root)]);
    const reports: number[][] = [[], [], []];
    await Promise.all(
      [store, ...others].map((one, position) =>
        one.blobs.ensure(
          blob,
          async (into) => {
            downloads += 1;
            await rest()(into);
          },
          { onProgress: (bytes) => reports[position]?.push(bytes) },
        ),
      ),
    );
    expect(downloads).toBe(1);
    expect(reports.map((list) => list.at(-1))).toEqual([content.length, content.length, content.length]);
  });

  it("that is something else is refused, and nothing of it stays", async () => {
    const work = store.blobs.ensure(blob, rest(noise(100_000, "other")));
    await expect(work).rejects.toMatchObject({ code: "digest_mismatch" });
    expect(existsSync(store.blobs.path(blob.digest))).toBe(false);
    expect(parts()).toEqual([]);
  });

  it("that breaks off is gone on with by the next", async () => {
    const broken = store.blobs.ensure(blob, async (into) => {
      await into.write(Buffer.from(content.subarray(0, 70_000)));
      throw new Error("broke off");
    });
    await expect(broken).rejects.toThrow("broke off");
    let from = -1;
    await store.blobs.ensure(blob, async (into) => {
      from = into.offset;
      await rest()(into);
    });
    expect(from).toBe(70_000);
    expect(await store.blobs.read(blob.digest)).toEqual(content);
  });

  it("whose left part is damaged is had again from the start", async () => {
    writeFileSync(join(root, "partial", `${digestHex(blob.digest)}.kept.x`), noise(500, "damaged"));
    const offsets: number[] = [];
    await store.blobs.ensure(blob, async (into) => {
      offsets.push(into.offset);
      await rest()(into);
    });
    expect(offsets).toEqual([500, 0]);
    expect(await store.blobs.read(blob.digest)).toEqual(content);
  });

  it("whose left part is longer than the blob is had again from the start", async () => {
    writeFileSync(join(root, "partial", `${digestHex(blob.digest)}.kept.x`), noise(200_000, "longer"));
    await store.blobs.ensure(blob, rest());
    expect(await store.blobs.read(blob.digest)).toEqual(content);
  });

  it("that a live process writes is not taken from it; that of a dead one is", async () => {
    const alive = ownMark();
    const dead = alive.replace(/\d+$/, "1");
    const path = (mark: string): string => join(root, "partial", `${digestHex(blob.digest)}.${mark}.x`);
    writeFileSync(path(alive), content.subarray(0, 60_000));
    writeFileSync(path(dead), content.subarray(0, 20_000));
    let from = -1;
    await store.blobs.ensure(blob, async (into) => {
      from = into.offset;
      await rest()(into);
    });
    expect(from).toBe(20_000);
    expect(existsSync(path(alive))).toBe(true);
  });

  it("that was cut on disk is noticed and had again", async () => {
    await store.blobs.ensure(blob, rest());
    truncateSync(store.blobs.path(blob.digest), 10);
    expect(await store.blobs.has(blob)).toBe(false);
    await store.blobs.ensure(blob, rest());
    expect(await store.blobs.read(blob.digest)).toEqual(content);
  });

  it("is checked again when it is read", async () => {
    writeFileSync(store.blobs.path(blob.digest), noise(100_000, "changed"));
    await expect(store.blobs.read(blob.digest)).rejects.toMatchObject({ code: "digest_mismatch" });
  });

  it("of which a manifest states another size is refused, and kept", async () => {
    await store.blobs.ensure(blob, rest());
    const work = store.blobs.ensure({ ...blob, sizeBytes: 5 }, rest());
    await expect(work).rejects.toMatchObject({ code: "image_invalid" });
    expect(await store.blobs.has(blob)).toBe(true);
  });
});

const platform = hostPlatform();

async function addImage(name: string, layerSeeds: readonly string[], usedAt?: number): Promise<ImageRecord> {
  const layers = [];
  for (const seed of layerSeeds) {
    const digest = await store.blobs.put(noise(1000, seed));
    layers.push({ digest, sizeBytes: 1000, compression: "gzip" as const });
  }
  const config = await store.blobs.put(noise(10, `config of ${name}`));
  const manifest = await store.blobs.put(noise(10, `manifest of ${name}`));
  const record: ImageRecord = {
    reference: canonicalForm(parseReference(name)),
    platform: platformText(platform),
    digest: manifest,
    manifestDigest: manifest,
    config: { digest: config, sizeBytes: 10 },
    layers,
    pulledAt: "2024-05-06T07:08:09.000Z",
  };
  await store.records.write(record);
  if (usedAt !== undefined) await store.records.touch(record, new Date(usedAt));
  return record;
}

const names = async (): Promise<string[]> =>
  (await store.list()).map(({ record }) => record.reference.split("/").at(-1) ?? "");

describe("an image", () => {
  it("is found by its reference, with its size and age", async () => {
    const record = await addImage("app:1", ["a", "b"], 1_000_000);
    expect(await store.find(parseReference("docker.io/library/app:1"), platform)).toEqual(record);
    expect(await store.find(parseReference("app:2"), platform)).toBeNull();
    expect(await store.find(parseReference("app:1"), { ...platform, architecture: "s390x" })).toBeNull();
    const pulledAtMs = Date.parse(record.pulledAt);
    expect(await store.list()).toEqual([
      { record, sizeBytes: 2020, unpackedBytes: null, pulledAtMs, lastUsedMs: 1_000_000, whole: true },
    ]);
  });

  it("that lacks a blob is not found, and listed as such", async () => {
    const record = await addImage("app:1", ["a"]);
    await store.blobs.remove(record.config.digest);
    expect(await store.find(parseReference("app:1"), platform)).toBeNull();
    expect(await store.list()).toMatchObject([{ whole: false }]);
  });

  it.each(["", "{", "[]", '{"reference":"x"}', "\u0000"])(
    "whose record is damaged (%j) is as if it were not there",
    async (text) => {
      await addImage("app:1", ["a"]);
      const [file = ""] = readdirSync(join(root, "refs"));
      writeFileSync(join(root, "refs", file), text);
      expect(await store.find(parseReference("app:1"), platform)).toBeNull();
      expect(await store.list()).toEqual([]);
    },
  );

  it("that was asked for by its digest stays when its tag points elsewhere", async () => {
    const first = await addImage("app:1", ["a"]);
    const held = parseReference(`app:1@${first.digest}`);
    const found = await store.find(held, platform);
    expect(found).toEqual(first);
    await store.recordAs(held, first);
    await addImage("app:1", ["b"]);
    await store.clear();
    expect(await store.find(held, platform)).toEqual({ ...first, reference: canonicalForm(held) });
  });

  it("that is removed leaves its blobs to the next clearing, which keeps shared ones", async () => {
    const first = await addImage("app:1", ["shared", "own"]);
    await addImage("app:2", ["shared"]);
    expect(await store.remove(parseReference("app:1"))).toEqual([first]);
    expect(await store.clear()).toMatchObject({
      removedBlobs: 3,
      freedBytes: 1020,
      totalBytes: 1020,
      removedImages: [],
    });
    expect(await store.find(parseReference("app:2"), platform)).not.toBeNull();
  });
});

describe("clearing", () => {
  it("forgets what a process left that was killed while it removed an image", async () => {
    const { reference, digest, manifestDigest } = await addImage("app:1", ["a"]);
    const config = { env: [], entrypoint: [], cmd: [], workdir: null, user: null };
    const name = "a".repeat(64);
    const ready = { reference, platform: platformText(platform), digest, manifestDigest, ...config, layers: [name] };
    writeFileSync(readyPath(root, reference, ready.platform), JSON.stringify(ready));
    mkdirSync(layerFolder(root, name), { recursive: true });
    await store.clear();
    expect(findReady(root, reference, ready.platform)).toEqual(ready);
    rmSync(join(root, "refs"), { recursive: true });
    mkdirSync(join(root, "refs"));
    await store.clear();
    expect(findReady(root, reference, ready.platform)).toBeNull();
    expect(["ready", "layers"].flatMap((folder) => readdirSync(join(root, folder)))).toEqual([]);
  });

  it("keeps what a live process has pinned, and not what a dead one had", async () => {
    const digest = await store.blobs.put(content);
    const pin = await store.pin([digest]);
    const dead = ownMark().replace(/\d+$/, "1");
    const orphan = await store.blobs.put(noise(10, "orphan"));
    writeFileSync(join(root, "pins", `${dead}.x`), orphan);
    await store.clear();
    expect([await store.blobs.sizeOf(digest), await store.blobs.sizeOf(orphan)]).toEqual([content.length, null]);
    await pin.release();
    await store.clear();
    expect(await store.blobs.sizeOf(digest)).toBeNull();
    expect(readdirSync(join(root, "pins"))).toEqual([]);
  });

  it("drops downloads that broke off only when asked, and never one that goes on", async () => {
    const alive = `${digestHex(blob.digest)}.${ownMark()}.x`;
    const left = `${digestHex(blob.digest)}.kept.x`;
    for (const name of [alive, left]) writeFileSync(join(root, "partial", name), "abc");
    await store.clear();
    expect(parts().sort()).toEqual([alive, left].sort());
    expect((await store.clear({ dropPartial: true })).freedBytes).toBe(3);
    expect(parts()).toEqual([alive]);
  });

  it("under a ceiling removes what was not used for longest first, as much as is needed", async () => {
    await addImage("new:1", ["n"], 3_000_000);
    await addImage("old:1", ["o"], 1_000_000);
    await addImage("mid:1", ["m"], 2_000_000);
    const cleared = await store.clear({ ceilingBytes: 2100 });
    expect(cleared.removedImages.map(({ reference }) => reference)).toEqual(["docker.io/library/old:1"]);
    expect(cleared.totalBytes).toBe(2040);
    expect(await names()).toEqual(["mid:1", "new:1"]);
  });

  it("under a ceiling keeps what is in use, however old", async () => {
    const old = await addImage("old:1", ["o"], 1_000_000);
    await addImage("new:1", ["n"], 3_000_000);
    await store.clear({ ceilingBytes: 0, inUse: new Set([old.manifestDigest]) });
    expect(await names()).toEqual(["old:1"]);
    expect(await store.find(parseReference("old:1"), platform)).toEqual(old);
  });

  it("waits for a pin that is being made", async () => {
    const digest = await store.blobs.put(content);
    const [pin] = await Promise.all([store.pin([digest]), store.blobs.sizeOf(digest)]);
    await Promise.all([store.clear(), store.clear()]);
    expect(await store.blobs.sizeOf(digest)).toBe(content.length);
    await pin.release();
  });
});

describe("an image that is held", () => {
  it("names the processes that hold it", async () => {
    const record = await addImage("app:1", ["a"]);
    const pin = await store.pin([record.manifestDigest]);
    expect((await store.users()).get(record.manifestDigest)).toEqual([process.pid]);
    await pin.release();
    expect(await store.users()).toEqual(new Map());
  });

  it("by its digest is found under whatever name it has", async () => {
    const record = await addImage("app:1", ["a"]);
    expect(await store.find(parseReference(`other:2@${record.digest}`), platform)).toEqual(record);
    expect(await store.find(parseReference(`app:1@${sha256("none")}`), platform)).toBeNull();
  });

  it("for longer than it was used goes when asked, and not while it is held", async () => {
    const held = await addImage("held:1", ["h"], 1_000_000);
    await addImage("old:1", ["o"], 1_000_000);
    await addImage("new:1", ["n"], 3_000_000);
    const pin = await store.pin([held.manifestDigest]);
    const { removedImages } = await store.clear({ unusedSinceMs: 2_000_000 });
    expect(removedImages.map(({ reference }) => reference)).toEqual(["docker.io/library/old:1"]);
    await pin.release();
  });
});

describe("a store", () => {
  it("is closed to others, also where it was open", async () => {
    chmodSync(root, 0o755);
    await ImageStore.open(root);
    expect(statSync(root).mode & 0o777).toBe(0o700);
  });

  it.runIf(process.getuid?.() === 0)("of another user is not used", async () => {
    chownSync(root, 12_345, 12_345);
    await expect(ImageStore.open(root)).rejects.toMatchObject({ code: "conflict" });
  });

  it("has scratch files that nobody sees and that are gone when closed", async () => {
    const file = await store.scratchFile();
    await file.writeFile("bytes");
    expect(parts()).toEqual([]);
    expect((await file.stat()).size).toBe(5);
    await file.close();
  });

  it("has one identity, however many processes open it first", async () => {
    const fresh = join(root, "another");
    await Promise.all(Array.from({ length: 5 }, () => ImageStore.open(fresh)));
    expect(readdirSync(fresh).sort()).toEqual([
      "blobs",
      "id",
      "layers",
      "partial",
      "pins",
      "ready",
      "refs",
      "unpacking",
    ]);
    expect(readdirSync(join(fresh, "partial"))).toEqual([]);
  });

  it("that cannot be opened says why", async () => {
    writeFileSync(join(root, "file"), "");
    await expect(ImageStore.open(join(root, "file"))).rejects.toThrow(/cannot be opened \((ENOTDIR|EEXIST)\)/);
  });

  it("notes when an image was used", async () => {
    const record = await addImage("app:1", ["a"]);
    const [file = ""] = readdirSync(join(root, "refs"));
    utimesSync(join(root, "refs", file), 5, 5);
    const before = Date.now() - 1000;
    await store.records.touch(record);
    expect((await store.list())[0]?.lastUsedMs).toBeGreaterThan(before);
  });
});
