/** Layers that are something else than they say, or larger than anyone expects: limits hold, and nothing of them stays. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { documentOf, sha256 } from "../../support/registry-image.js";
import { ScriptedRegistry } from "../../support/registry-scripted.js";
import { busyboxTar, imageOf, NOTHING_UNPACKED, TestStore } from "../../support/served-images.js";
import { file, tarOf } from "../../support/tar-maker.js";
import { residentPeakOfChildren } from "../support/child-memory.js";
import { runHostile } from "../support/hostile-image.js";

const MIB = 2 ** 20;
const LIMITS = { AGENTKERNEL_LAYER_MAX_BYTES: String(64 * MIB), AGENTKERNEL_LAYER_MAX_ENTRIES: "5000" };
const GZIPPED = "application/vnd.oci.image.layer.v1.tar+gzip";

let registry: ScriptedRegistry;
beforeAll(async () => {
  registry = await ScriptedRegistry.start();
});
afterAll(async () => registry.stop());

describe("F6 layers that lie about what they are", () => {
  describe.each(actors)("as $name", (actor) => {
    leavesNothingBehind();

    it("a layer with another digest than the manifest's is never unpacked", async () => {
      const image = imageOf({ tars: [busyboxTar()] });
      const [layer] = image.layers;
      if (layer === undefined) throw new Error("an image has a layer");
      const other = gzipSync(tarOf([file("evil", "x".repeat(layer.bytes.length))]));
      const padded = Buffer.concat([other, Buffer.alloc(Math.max(0, layer.bytes.length - other.length))]);
      const swapped = { ...layer, bytes: padded.subarray(0, layer.bytes.length) };
      registry.addImage("library/swapped", "1", { ...image, layers: [swapped] });
      const store = new TestStore(actor, registry.host);
      const { status, stderr } = await store.run(["--image", "swapped:1", "true"]);
      expect(stderr).toMatch(/something else/);
      expect(status).toBe(125);
      expect(store.unpackedThings()).toEqual(NOTHING_UNPACKED);
      expect(store.names("refs")).toEqual([]);
    });

    it("a layer that unpacks to something else than the configuration says is not used", async () => {
      const truth = tarOf([file("evil", "1")]);
      for (const diffIds of [
        [sha256(busyboxTar()), sha256("other")],
        [sha256(truth), sha256(busyboxTar())],
      ]) {
        registry.addImage("library/other", "1", imageOf({ tars: [busyboxTar(), truth], diffIds }));
        const store = new TestStore(actor, registry.host);
        const { status, stderr } = await store.run(["--image", "other:1", "true"]);
        expect(stderr).toMatch(/has the digest sha256:[0-9a-f]{64}, and the image says sha256:/);
        expect(status).toBe(125);
        expect(store.unpackedThings()).toEqual(NOTHING_UNPACKED);
      }
    });

    it("a layer that says it is compressed in another way, or is no archive at all, is refused", async () => {
      const plain = documentOf(tarOf([file("x", "")]), GZIPPED);
      const noise = documentOf(gzipSync(Buffer.alloc(4096, "no archive ")), GZIPPED);
      for (const layer of [plain, noise]) {
        const image = imageOf({ tars: [layer.bytes], diffIds: [sha256("anything")] });
        const { manifest } = { manifest: JSON.parse(image.manifest.bytes.toString()) };
        manifest.layers = [{ mediaType: GZIPPED, digest: layer.digest, size: layer.bytes.length }];
        const lying = { ...image, manifest: documentOf(manifest, image.manifest.mediaType), layers: [layer] };
        registry.addImage("library/lying", "1", lying);
        const store = new TestStore(actor, registry.host);
        const { status, stderr } = await store.run(["--image", "lying:1", "true"]);
        expect(stderr).toMatch(/cannot be unpacked|its media type says/);
        expect(status).toBe(125);
        expect(store.unpackedThings()).toEqual(NOTHING_UNPACKED);
      }
    });
  });
});

describe("F6 layers without end", () => {
  const bomb = tarOf([file("bomb", Buffer.alloc(256 * MIB))]);

  it("the bomb is small and becomes large where nobody counts", () => {
    const small = gzipSync(bomb, { level: 1 });
    expect(small.length).toBeLessThan(2 * MIB);
    const { stdout } = spawnSync("gzip", ["-dc"], { input: small, maxBuffer: 2 ** 30 });
    expect(stdout.length).toBeGreaterThan(256 * MIB);
  });

  describe.each(actors)("as $name", (actor) => {
    leavesNothingBehind();

    it("a gzip bomb ends at the limit of bytes, and takes little memory", async () => {
      const { result, store } = await runHostile(actor, registry, bomb, { env: LIMITS });
      expect(result.stderr).toMatch(/more than 67108864 bytes/);
      expect(result.status).toBe(125);
      expect(store.unpackedThings()).toEqual(NOTHING_UNPACKED);
    });

    it("a bomb of nothing but the archive's own end does too", async () => {
      const { result, store } = await runHostile(actor, registry, Buffer.alloc(160 * MIB), { env: LIMITS });
      expect(result.stderr).toMatch(/larger than a layer may be/);
      expect(result.status).toBe(125);
      expect(store.unpackedThings()).toEqual(NOTHING_UNPACKED);
    });

    it("the unpacker itself stays small whatever it unpacks", async () => {
      const folder = actor.folder("bomb");
      mkdirSync(join(folder, "target"));
      writeFileSync(join(folder, "blob"), gzipSync(bomb, { level: 1 }));
      const peakMiB = residentPeakOfChildren(actor, folder, sha256(bomb));
      expect(peakMiB).toBeLessThan(64);
    });

    it("more entries than the limit are refused, and so are folders without end that are made for them", async () => {
      const many = tarOf(Array.from({ length: 5100 }, (_, index) => file(`many/${index}`, "")));
      const deep = tarOf(
        Array.from({ length: 60 }, (_, index) =>
          file(`${index}/${Array.from({ length: 99 }, () => "d").join("/")}`, ""),
        ),
      );
      for (const tar of [many, deep]) {
        const { result, store } = await runHostile(actor, registry, tar, { env: LIMITS });
        expect(result.stderr).toMatch(/more than 5000 entries/);
        expect(result.status).toBe(125);
        expect(store.unpackedThings()).toEqual(NOTHING_UNPACKED);
      }
    });

    it("a file that says it is far larger than what is there is refused", async () => {
      const sparse = {
        ...file("sparse", "1234"),
        pax: { "GNU.sparse.map": "0,4", "GNU.sparse.size": "1000000000000" },
      };
      const { result } = await runHostile(actor, registry, tarOf([sparse]), { env: LIMITS });
      expect(result.stderr).toMatch(/more than 67108864 bytes/);
      expect(result.status).toBe(125);
    });
  });
});
