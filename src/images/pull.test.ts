import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isBlob, reply } from "../../test/support/registry-answers.js";
import { documentOf, makeImage, makeIndex, noise } from "../../test/support/registry-image.js";
import { ScriptedRegistry } from "../../test/support/registry-scripted.js";
import { type LayerProgress, type Pulled, type PullOptions, pull } from "./pull.js";
import { parseReference } from "./reference.js";
import { ImageStore } from "./store/index.js";

const platform = { os: "linux", architecture: "amd64", variant: null };
const image = makeImage({ layers: [noise(300_000, "1"), noise(200_000, "2"), noise(100, "3"), noise(50, "4")] });
const moved = makeImage({ layers: [noise(300_000, "1"), noise(70, "new")] });
const retry = { attempts: 2, firstPauseMs: 1, maxPauseMs: 1 };

let root = "";
let store: ImageStore;
let registry: ScriptedRegistry;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "agentkernel-pull-"));
  store = await ImageStore.open(root);
  registry = await ScriptedRegistry.start();
  registry.addImage("app", "1", image);
});
afterEach(async () => {
  await registry.stop();
  rmSync(root, { recursive: true, force: true });
});

const pullApp = (name = "app:1", options: Partial<PullOptions> = {}): Promise<Pulled> =>
  pull(parseReference(`${registry.host}/${name}`), { store, platform, retry, ...options });
const findApp = (name = "app:1") => store.find(parseReference(`${registry.host}/${name}`), platform);
const leftovers = (): string[] => ["partial", "pins"].flatMap((folder) => readdirSync(join(root, folder)));

describe("a pull", () => {
  it("brings the whole image into the store, and leaves nothing else", async () => {
    const { record, previous, from } = await pullApp();
    expect(record).toMatchObject({ digest: image.manifest.digest, manifestDigest: image.manifest.digest });
    expect([previous, from]).toEqual([null, registry.host]);
    expect(await findApp()).toEqual(record);
    for (const { digest, bytes } of [image.manifest, image.config, ...image.layers]) {
      expect((await store.blobs.read(digest)).equals(bytes)).toBe(true);
    }
    expect(leftovers()).toEqual([]);
  });

  it("tells for each layer how far it is, up to its end and never back", async () => {
    const seen = new Map<string, LayerProgress[]>();
    const onProgress = (step: LayerProgress): void => {
      seen.set(step.digest, [...(seen.get(step.digest) ?? []), step]);
    };
    await pullApp("app:1", { onProgress });
    expect([...seen.keys()].sort()).toEqual(image.layers.map(({ digest }) => digest).sort());
    for (const { digest, bytes } of image.layers) {
      const steps = (seen.get(digest) ?? []).map(({ doneBytes }) => doneBytes);
      expect(steps.at(-1)).toBe(bytes.length);
      expect(steps).toEqual([...steps].sort((a, b) => a - b));
    }
  });

  it("of what is here asks only whether the tag still points to it", async () => {
    await pullApp();
    registry.seen.length = 0;
    const again = await pullApp();
    expect(again.from).toBeNull();
    expect(registry.seen.filter(({ url }) => url !== "/v2/").map(({ method }) => method)).toEqual(["HEAD"]);
  });

  it("of a digest that is here needs no registry", async () => {
    const name = `app@${image.manifest.digest}`;
    await pullApp(name);
    registry.seen.length = 0;
    expect((await pullApp(name)).record.digest).toBe(image.manifest.digest);
    expect(registry.seen).toEqual([]);
  });

  it("of a tag that has moved says what it was, and downloads only what is new", async () => {
    const { record: first } = await pullApp();
    registry.addImage("app", "1", moved);
    registry.seen.length = 0;
    const second = await pullApp();
    expect(second.previous).toEqual(first);
    expect(second.record.digest).toBe(moved.manifest.digest);
    expect(
      registry
        .requestsFor("/blobs/")
        .map(({ url }) => url.split("/").at(-1))
        .sort(),
    ).toEqual([moved.config.digest, moved.layers[1]?.digest].sort());
  });

  it("of an index takes this machine's image, and keeps the index's digest", async () => {
    const index = makeIndex([
      { image: moved, platform: { os: "linux", architecture: "arm64" } },
      { image, platform: { os: "linux", architecture: "amd64" } },
    ]);
    registry.addManifest("app", "multi", index);
    const { record } = await pullApp("app:multi");
    expect(record).toMatchObject({ digest: index.digest, manifestDigest: image.manifest.digest });
    expect(await store.blobs.read(index.digest)).toEqual(index.bytes);
  });

  it("of a digest with a tag takes the digest", async () => {
    registry.addImage("app", "2", moved);
    const { record } = await pullApp(`app:2@${image.manifest.digest}`);
    expect(record.digest).toBe(image.manifest.digest);
  });

  it("by two at once downloads each blob once", async () => {
    const second = await ImageStore.open(root);
    await Promise.all([pullApp(), pullApp("app:1", { store: second })]);
    const blobs = registry.requestsFor("/blobs/").map(({ url }) => url);
    expect(new Set(blobs).size).toBe(blobs.length);
  });
});

describe("a pull that fails", () => {
  it("leaves no image, no pin, and only whole layers and parts to go on from", async () => {
    const [first, , third] = image.layers;
    registry.script = (seen, response) => seen.url.includes(third?.digest ?? "-") && reply(500)(response);
    await expect(pullApp()).rejects.toMatchObject({ code: "registry_error" });
    expect(await findApp()).toBeNull();
    expect(readdirSync(join(root, "pins"))).toEqual([]);
    registry.script = () => false;
    registry.seen.length = 0;
    await pullApp();
    expect(await findApp()).not.toBeNull();
    // What came whole before the failure is not asked for again.
    const asked = registry.requestsFor(first?.digest ?? "-");
    expect(asked.every(({ range }) => range !== undefined) || asked.length <= 1).toBe(true);
  });

  it("because a blob is something else says so", async () => {
    registry.script = (seen, response) =>
      seen.url.includes(image.layers[0]?.digest ?? "-") && reply(200, {}, noise(300_000, "evil"))(response);
    await expect(pullApp()).rejects.toMatchObject({ code: "digest_mismatch" });
    expect(await findApp()).toBeNull();
    expect(await store.blobs.sizeOf(image.layers[0]?.digest ?? "sha256:")).toBeNull();
  });

  it("because the image is for another machine downloads no layer", async () => {
    const work = pullApp("app:1", { platform: { ...platform, architecture: "arm64" } });
    await expect(work).rejects.toMatchObject({
      code: "image_not_found",
      message: expect.stringMatching(/linux\/arm64/),
    });
    expect(registry.requestsFor("/blobs/").map(({ url }) => url.split("/").at(-1))).toEqual([image.config.digest]);
  });

  it("because layers and configuration do not agree says so", async () => {
    registry.addImage("app", "odd", makeImage({ layers: [noise(9, "x")], diffIds: [] }));
    await expect(pullApp("app:odd")).rejects.toMatchObject({ code: "image_invalid" });
  });

  it.each([
    ["is gzip and says zstd", "application/vnd.oci.image.layer.v1.tar+zstd", /is gzip, and its media type says zstd/],
    ["is gzip and says plain", "application/vnd.oci.image.layer.v1.tar", /is gzip, and its media type says a plain/],
  ])("because a layer %s says so", async (_name, layerType, message) => {
    const layers = [gzipSync("layer")];
    registry.addImage("app", "odd", makeImage({ layers, layerType, diffIds: [image.config.digest] }));
    await expect(pullApp("app:odd")).rejects.toMatchObject({
      code: "image_invalid",
      message: expect.stringMatching(message),
    });
    expect(await findApp("app:odd")).toBeNull();
  });

  it("because an index only leads to indexes ends", async () => {
    const type = "application/vnd.oci.image.index.v1+json";
    let inner = makeIndex([]);
    for (let depth = 0; depth < 5; depth += 1) {
      const entry = { mediaType: type, digest: inner.digest, size: inner.bytes.length };
      inner = documentOf({ schemaVersion: 2, mediaType: type, manifests: [entry] }, type);
      registry.addManifest("app", "deep", inner);
    }
    await expect(pullApp("app:deep")).rejects.toThrow(/index of indexes/);
  });

  it("because it was called off ends with the caller's reason", async () => {
    const stop = new AbortController();
    registry.script = (seen) => {
      if (isBlob(seen)) stop.abort(new Error("called off"));
      return isBlob(seen);
    };
    await expect(pullApp("app:1", { signal: stop.signal })).rejects.toThrow("called off");
    expect(readdirSync(join(root, "pins"))).toEqual([]);
  });
});

describe("a mirror", () => {
  const python = parseReference("python:3.12-alpine");

  it("serves in its registry's name", async () => {
    registry.addImage("library/python", "3.12-alpine", image);
    const mirrors = { "docker.io": [`http://${registry.host}`] };
    const { record, from } = await pull(python, { store, platform, mirrors });
    expect(record.reference).toBe("docker.io/library/python:3.12-alpine");
    expect(from).toBe(registry.host);
    expect(await store.find(python, platform)).toEqual(record);
  });

  it("that fails is followed by the next, is named, and gets no login of another", async () => {
    const broken = await ScriptedRegistry.start();
    try {
      broken.script = (_seen, response) => reply(401, { "www-authenticate": "Basic" })(response);
      const asked: string[] = [];
      const credentials = async (name: string) => {
        asked.push(name);
        return null;
      };
      const mirrors = { [registry.host]: [`http://${broken.host}`] };
      const { from, failedMirrors } = await pullApp("app:1", { mirrors, credentials });
      expect(from).toBe(registry.host);
      expect(failedMirrors).toEqual([{ host: broken.host, reason: expect.stringMatching(/wants a login/) }]);
      expect(asked).toEqual([broken.host]);
    } finally {
      await broken.stop();
    }
  });
});
