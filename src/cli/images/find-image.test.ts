import { describe, expect, it } from "vitest";
import { canonicalForm, digestOf, type ListedImage, parseReference } from "../../images/index.js";
import { imagesMeant } from "./find-image.js";

function listed(name: string, platform = "linux/amd64"): ListedImage {
  const digest = digestOf(name);
  const record = {
    reference: canonicalForm(parseReference(name)),
    platform,
    digest,
    manifestDigest: digestOf(`${name} ${platform}`),
    config: { digest, sizeBytes: 1 },
    layers: [],
    pulledAt: "2024-05-06T07:08:09.000Z",
  };
  return { record, sizeBytes: 1, unpackedBytes: null, pulledAtMs: 0, lastUsedMs: 0, whole: true };
}

const store = [listed("app:1"), listed("app:2"), listed("cafe12:latest"), listed("app:1", "linux/arm64")];
const meant = (word: string): string[] =>
  imagesMeant(word, store).map(({ reference, platform }) => `${reference} ${platform}`);

describe("an image is meant", () => {
  it("by its name, on every platform", () => {
    expect(meant("docker.io/library/app:1")).toEqual([
      "docker.io/library/app:1 linux/amd64",
      "docker.io/library/app:1 linux/arm64",
    ]);
  });

  it("by the start of its digest, with or without the kind", () => {
    const digits = digestOf("app:2").slice(7, 19);
    expect(meant(digits)).toEqual(["docker.io/library/app:2 linux/amd64"]);
    expect(meant(`sha256:${digits}`)).toEqual(["docker.io/library/app:2 linux/amd64"]);
  });

  it("by its name where that could also be digits", () => {
    expect(meant("cafe12")).toEqual(["docker.io/library/cafe12:latest linux/amd64"]);
  });

  it.each(["app", "app:3", "abcdef", "sha256:12", "sha256:abcdef"])("by %s not at all", (word) => {
    expect(() => meant(word)).toThrow(/no image/);
  });

  it("never two by one word", () => {
    const twins = [store[0], { ...listed("b:1"), record: { ...listed("b:1").record, digest: digestOf("app:1") } }];
    const both = twins.flatMap((one) => (one === undefined ? [] : [one]));
    expect(() => imagesMeant(digestOf("app:1").slice(7, 20), both)).toThrow(/several images/);
  });
});
