import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { descriptorOf, documentOf, makeImage, makeIndex, noise } from "../../test/support/registry-image.js";
import { isAgentKernelError } from "../core/errors.js";
import { parseImageConfig } from "./image-config.js";
import { choosePlatform, MAX_LAYERS, parseManifest } from "./manifest.js";
import { hostPlatform, platformText } from "./platform.js";

const image = makeImage({ layers: [noise(10, "a"), noise(20, "b")] });
const good: Record<string, unknown> = JSON.parse(image.manifest.bytes.toString());
const layer = { mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", digest: image.config.digest, size: 1 };
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

describe("a manifest", () => {
  it("gives its configuration and layers", () => {
    expect(parseManifest(image.manifest.bytes, image.manifest.mediaType)).toEqual({
      kind: "image",
      config: { digest: image.config.digest, sizeBytes: image.config.bytes.length },
      layers: image.layers.map(({ digest, bytes }) => ({ digest, sizeBytes: bytes.length, compression: "none" })),
    });
  });

  it.each<[string, string]>([
    ["application/vnd.oci.image.layer.v1.tar+gzip", "gzip"],
    ["application/vnd.oci.image.layer.v1.tar+zstd", "zstd"],
    ["application/vnd.docker.image.rootfs.diff.tar.gzip", "gzip"],
  ])("may have layers of %s", (mediaType, compression) => {
    const parsed = parseManifest(bytesOf({ ...good, layers: [{ ...layer, mediaType }] }), image.manifest.mediaType);
    expect(parsed).toMatchObject({ layers: [{ compression }] });
  });

  it.each<[string, unknown, RegExp]>([
    ["no JSON", undefined, /no JSON object/],
    ["a list", [], /no JSON object/],
    ["schema 1", { schemaVersion: 1, fsLayers: [] }, /schema 1/],
    ["both kinds at once", { ...good, manifests: [] }, /neither clearly/],
    ["neither kind", { schemaVersion: 2 }, /neither clearly/],
    ["another kind by its own word", { ...good, mediaType: "application/vnd.oci.image.index.v1+json" }, /calls itself/],
    ["an artifact", { ...good, config: { ...descriptorOf(image.config), mediaType: "application/x" } }, /other than/],
    ["too many layers", { ...good, layers: Array.from({ length: MAX_LAYERS + 1 }, () => layer) }, /layers, more/],
    [
      "a foreign layer",
      { ...good, layers: [{ ...layer, mediaType: "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip" }] },
      /not supported/,
    ],
    ["another hash", { ...good, layers: [{ ...layer, digest: `sha512:${"0".repeat(128)}` }] }, /no sha256/],
    ["a path for a digest", { ...good, layers: [{ ...layer, digest: "sha256:../../../etc/passwd" }] }, /no sha256/],
    ["a negative size", { ...good, layers: [{ ...layer, size: -1 }] }, /size that is none/],
    ["a size of text", { ...good, layers: [{ ...layer, size: "1" }] }, /size that is none/],
    ["a huge size", { ...good, layers: [{ ...layer, size: 2 ** 50 }] }, /more than the/],
    ["a huge configuration", { ...good, config: { ...descriptorOf(image.config), size: 2 ** 30 } }, /more than the/],
    ["null layers", { ...good, layers: [null] }, /layer that is none/],
  ])("with %s is refused", (_name, value, message) => {
    const bytes = value === undefined ? Buffer.from("{") : bytesOf(value);
    expect(() => parseManifest(bytes, image.manifest.mediaType)).toThrow(message);
  });

  it("served as another kind than it is, is refused", () => {
    expect(() => parseManifest(image.manifest.bytes, "application/vnd.oci.image.index.v1+json")).toThrow(
      /calls itself/,
    );
  });

  it("of any JSON gives a manifest or an error with a code", () => {
    const names = ["schemaVersion", "manifests", "layers", "config", "digest", "size", "mediaType", "platform"];
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(2, null, "", image.config.digest, layer.mediaType, -1, "__proto__"),
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names), tie("node"), { maxKeys: 6 }),
      ),
    })).node;
    fc.assert(
      fc.property(value, (any) => {
        for (const read of [
          () => parseManifest(bytesOf({ schemaVersion: 2, ...Object(any) }), ""),
          () => parseImageConfig(bytesOf(any)),
        ]) {
          try {
            read();
          } catch (error) {
            expect(isAgentKernelError(error)).toBe(true);
          }
        }
      }),
    );
  });
});

describe("an index", () => {
  const [v6, v7, v8, intel] = ["6", "7", "8", "i"].map((seed) => makeImage({ layers: [noise(8, seed)] }));
  if (v6 === undefined || v7 === undefined || v8 === undefined || intel === undefined) throw new Error("no images");
  const index = makeIndex([
    { image: makeImage({ layers: [] }), platform: { os: "unknown", architecture: "unknown" } },
    { image: v6, platform: { os: "linux", architecture: "arm", variant: "v6" } },
    { image: v7, platform: { os: "linux", architecture: "arm", variant: "v7" } },
    { image: v8, platform: { os: "linux", architecture: "arm64", variant: "v8" } },
    { image: makeImage({ layers: [noise(8, "w")] }), platform: { os: "windows", architecture: "amd64" } },
    { image: makeImage({ layers: [noise(8, "3")] }), platform: { os: "linux", architecture: "amd64", variant: "v3" } },
    { image: intel, platform: { os: "linux", architecture: "amd64" } },
  ]);
  const parsed = parseManifest(index.bytes, index.mediaType);
  if (parsed.kind !== "index") throw new Error("not an index");
  const choose = (architecture: string, variant: string | null = null) =>
    choosePlatform(parsed, { os: "linux", architecture, variant }).digest;

  it("gives the image for the machine, and none that needs a newer one", () => {
    expect(choose("amd64")).toBe(intel.manifest.digest);
    expect(choose("arm64")).toBe(v8.manifest.digest);
    expect(choose("arm", "v7")).toBe(v7.manifest.digest);
    expect(choose("arm", "v6")).toBe(v6.manifest.digest);
  });

  it("without one for the machine says which there are", () => {
    expect(() => choose("s390x")).toThrow(
      expect.objectContaining({
        code: "image_not_found",
        hint: expect.stringMatching(/^it is made for linux\/arm\/v6, /),
      }),
    );
    expect(() => choose("arm", "v5")).toThrow(/not made for linux\/arm\/v5/);
  });

  it("with one image and no platform gives that one", () => {
    const bare = makeIndex([{ image: intel }]);
    const only = parseManifest(bare.bytes, bare.mediaType);
    if (only.kind !== "index") throw new Error("not an index");
    expect(choosePlatform(only, hostPlatform()).digest).toBe(intel.manifest.digest);
  });
});

describe("a configuration", () => {
  const parse = (config: unknown) =>
    parseImageConfig(documentOf({ os: "linux", architecture: "arm64", config, rootfs: { diff_ids: [] } }, "").bytes);

  it("gives what a command starts with", () => {
    const config = { Env: ["A=1", "bad", "B="], Entrypoint: ["/e"], Cmd: ["c"], WorkingDir: "/w", User: "1:2" };
    expect(parse(config)).toEqual({
      platform: { os: "linux", architecture: "arm64", variant: null },
      env: ["A=1", "B="],
      entrypoint: ["/e"],
      cmd: ["c"],
      workdir: "/w",
      user: "1:2",
      diffIds: [],
    });
    expect(parse({ Entrypoint: null, Cmd: null })).toMatchObject({
      env: [],
      entrypoint: [],
      cmd: [],
      workdir: null,
      user: null,
    });
  });

  it.each<[unknown, RegExp]>([
    [{ Env: "A=1" }, /Env/],
    [{ Cmd: [1] }, /Cmd/],
    [{ Cmd: ["a\u0000b"] }, /Cmd/],
    [{ WorkingDir: "../x" }, /not absolute/],
    [{ User: {} }, /User/],
  ])("of %j is refused", (config, message) => {
    expect(() => parse(config)).toThrow(message);
  });
});

it("this machine's platform is Linux with Docker's word for the architecture", () => {
  expect(["x64", "arm64", "arm"].map((arch) => platformText(hostPlatform(arch)))).toEqual([
    "linux/amd64",
    "linux/arm64",
    "linux/arm/v7",
  ]);
});
