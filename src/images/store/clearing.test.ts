import fc from "fast-check";
import { expect, it } from "vitest";
import { sha256 } from "../../../test/support/registry-image.js";
import type { Digest } from "../digest.js";
import { planClearing } from "./clearing.js";
import { digestsOf, type ImageRecord } from "./records.js";

const pool: Digest[] = Array.from({ length: 12 }, (_, position) => sha256(`blob ${position}`));
const anyDigest = fc.constantFrom(...pool);
const anyRecord: fc.Arbitrary<ImageRecord> = fc
  .record({
    digest: anyDigest,
    manifestDigest: anyDigest,
    config: anyDigest,
    layers: fc.array(anyDigest, { maxLength: 4 }),
  })
  .map(({ digest, manifestDigest, config, layers }) => ({
    reference: "docker.io/library/x:1",
    platform: "linux/amd64",
    digest,
    manifestDigest,
    config: { digest: config, sizeBytes: 1 },
    layers: layers.map((layer) => ({ digest: layer, sizeBytes: 1, compression: "gzip" as const })),
    pulledAt: "",
  }));

/** Beside its blobs an image needs its unpacked layers. */
const anyImage = fc
  .tuple(anyRecord, fc.array(anyDigest, { maxLength: 3 }))
  .map(([record, layers]) => ({ record, needs: [...new Set([...digestsOf(record), ...layers])] }));

it("a plan removes all that nothing needs, nothing that something needs, and no image more than it must", () => {
  const sizes = fc.uniqueArray(anyDigest).map((digests) => new Map(digests.map((digest, at) => [digest, at + 1])));
  fc.assert(
    fc.property(
      fc.array(anyImage, { maxLength: 5 }),
      sizes,
      fc.array(anyDigest, { maxLength: 3 }),
      fc.nat(80),
      (images, stored, pins, ceiling) => {
        const kept = new Set(pins);
        const plan = planClearing(images, stored, kept, ceiling);
        const staying = images.filter(({ record }) => !plan.images.includes(record));
        const needed = new Set([...kept, ...staying.flatMap(({ needs }) => needs)]);
        expect(new Set(plan.unneeded)).toEqual(new Set([...stored.keys()].filter((digest) => !needed.has(digest))));
        for (const record of plan.images)
          expect(kept.has(record.manifestDigest) || kept.has(record.digest)).toBe(false);

        const sizeOf = (digests: Set<Digest>): number =>
          [...stored].reduce((sum, [digest, size]) => sum + (digests.has(digest) ? size : 0), 0);
        const last = plan.images.at(-1);
        if (last !== undefined) {
          const before = new Set([...needed, ...images.flatMap((image) => (image.record === last ? image.needs : []))]);
          expect(sizeOf(before)).toBeGreaterThan(ceiling);
        }
        if (sizeOf(needed) > ceiling) {
          expect(staying.every(({ record }) => kept.has(record.manifestDigest) || kept.has(record.digest))).toBe(true);
        }
      },
    ),
  );
});
