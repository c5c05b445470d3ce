/** Imports from hand-made sources, honest and hostile. Those that real tools make are tried in test/e2e. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  documentOf,
  type MadeImage,
  makeImage,
  makeIndex,
  noise,
  sha256,
} from "../../../test/support/registry-image.js";
import { writeLayout } from "../../../test/support/registry-push.js";
import { type MadeEntry, tarArchive } from "../../../test/support/tar-archive.js";
import { isAgentKernelError } from "../../core/errors.js";
import { defaultUnpackLimits } from "../archive/compression.js";
import { digestHex } from "../digest.js";
import { parseReference } from "../reference.js";
import { ImageStore } from "../store/index.js";
import { type Imported, type ImportOptions, importImage, parseSource } from "./index.js";

const platform = { os: "linux", architecture: "amd64", variant: null };
const plain = tarArchive([{ name: "file", content: noise(5000, "file") }]);
const second = tarArchive([{ name: "other", content: "x" }]);
const image = makeImage({ layers: [plain, second] });

let folder = "";
let store: ImageStore;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-import-"));
  store = await ImageStore.open(join(folder, "store"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function* nothing(): AsyncGenerator<Buffer> {}

function run(source: string, options: Partial<ImportOptions> = {}): Promise<Imported> {
  const packBinary = (): string => {
    throw new Error("no folder is packed here");
  };
  return importImage(parseSource(source), { store, platform, env: {}, stdin: nothing, packBinary, ...options });
}

function file(name: string, bytes: Buffer): string {
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
}

interface SavedOptions {
  readonly made?: MadeImage;
  readonly tags?: readonly string[];
  readonly extra?: readonly MadeEntry[];
  readonly layers?: readonly string[];
  readonly config?: string;
}

/** What `docker save` wrote before it wrote OCI layouts. */
function saved({ made = image, tags = ["app:1"], extra = [], layers, config }: SavedOptions = {}): Buffer {
  const names = made.layers.map((_, at) => `${at}/layer.tar`);
  const configName = `${digestHex(made.config.digest)}.json`;
  const manifest = [{ Config: config ?? configName, RepoTags: tags, Layers: layers ?? names }];
  return tarArchive([
    { name: configName, content: made.config.bytes },
    ...made.layers.map(({ bytes }, at) => ({ name: `${at}/layer.tar`, content: bytes })),
    ...extra,
    { name: "manifest.json", content: JSON.stringify(manifest) },
  ]);
}

function layoutArchive(made: MadeImage, change: (name: string, bytes: Buffer) => Buffer = (_, bytes) => bytes): Buffer {
  const parts = [made.manifest, made.config, ...made.layers];
  const index = { schemaVersion: 2, manifests: [{ digest: made.manifest.digest, size: made.manifest.bytes.length }] };
  return tarArchive([
    { name: "oci-layout", content: "{}" },
    ...parts.map(({ digest, bytes }) => {
      const name = `blobs/sha256/${digestHex(digest)}`;
      return { name, content: change(name, bytes) };
    }),
    { name: "index.json", content: JSON.stringify(index) },
  ]);
}

const leftovers = (): string[] =>
  ["partial", "pins", "refs"].flatMap((name) => readdirSync(join(folder, "store", name)));
const named = { reference: parseReference("localhost/app:1") };

describe("an archive of docker save", () => {
  it("becomes an image under its own name, with its very configuration and layers", async () => {
    const { record } = await run(file("a.tar", saved()));
    expect(record).toMatchObject({ reference: "docker.io/library/app:1", config: { digest: image.config.digest } });
    expect(record.layers.map(({ digest }) => digest)).toEqual([sha256(plain), sha256(second)]);
    expect(await store.blobs.read(sha256(plain))).toEqual(plain);
    expect(readdirSync(join(folder, "store", "partial"))).toEqual([]);
  });

  it("is read from standard input too", async () => {
    const stdin = (async function* () {
      const bytes = saved();
      for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
    })();
    expect((await run("-", { stdin: () => stdin })).record.reference).toBe("docker.io/library/app:1");
  });

  it("has the same digest however it came", async () => {
    const digests = [
      (await run(file("a.tar", saved()))).record.digest,
      (await run(file("a.tar.gz", gzipSync(saved())))).record.digest,
    ];
    expect(new Set(digests).size).toBe(1);
  });

  it("may have a layer as a link to another, and compressed ones", async () => {
    const layers = ["link/layer.tar", "gz/layer.tar"];
    const made = makeImage({ layers: [plain, plain] });
    const extra = [
      { name: "link/layer.tar", type: "2", link: "../0/layer.tar" },
      { name: "gz/layer.tar", content: gzipSync(plain) },
    ];
    const { record } = await run(file("a.tar", saved({ made, layers, extra })));
    expect(record.layers.map(({ compression }) => compression)).toEqual(["none", "gzip"]);
  });

  it("of several images wants one to be named", async () => {
    const both = [
      { Config: `${digestHex(image.config.digest)}.json`, RepoTags: ["app:1"], Layers: ["0/layer.tar", "1/layer.tar"] },
      { Config: `${digestHex(image.config.digest)}.json`, RepoTags: ["app:2"], Layers: ["0/layer.tar", "1/layer.tar"] },
    ];
    const path = file(
      "a.tar",
      tarArchive([
        { name: `${digestHex(image.config.digest)}.json`, content: image.config.bytes },
        { name: "0/layer.tar", content: plain },
        { name: "1/layer.tar", content: second },
        { name: "manifest.json", content: JSON.stringify(both) },
      ]),
    );
    await expect(run(path)).rejects.toMatchObject({
      code: "invalid_argument",
      hint: expect.stringMatching(/app:1, app:2/),
    });
    expect((await run(`docker-archive:${path}:app:2`)).record.reference).toBe("docker.io/library/app:2");
    await expect(run(`docker-archive:${path}:app:3`)).rejects.toMatchObject({ code: "image_not_found" });
  });

  it.each<[string, () => Buffer, string]>([
    ["whose layer is another", () => saved({ layers: ["1/layer.tar", "0/layer.tar"] }), "digest_mismatch"],
    [
      "whose configuration is another",
      () =>
        saved({
          extra: [
            { name: `${digestHex(image.config.digest)}.json`, content: makeImage({ layers: [plain] }).config.bytes },
          ],
        }),
      "digest_mismatch",
    ],
    [
      "whose layer is a file of the host",
      () => saved({ layers: ["/etc/hostname", "../../etc/passwd"] }),
      "image_invalid",
    ],
    [
      "whose layer is a link to a file of the host",
      () => saved({ layers: ["l", "l"], extra: [{ name: "l", type: "2", link: "/etc/hostname" }] }),
      "image_invalid",
    ],
    ["that lacks a layer", () => saved({ layers: ["0/layer.tar", "9/layer.tar"] }), "image_invalid"],
    ["with fewer layers than its configuration", () => saved({ layers: ["0/layer.tar"] }), "image_invalid"],
    [
      "with a million layers",
      () => saved({ layers: Array.from({ length: 100_000 }, () => "0/layer.tar") }),
      "image_invalid",
    ],
    [
      "for another machine",
      () => saved({ made: makeImage({ layers: [plain], architecture: "s390x" }) }),
      "image_not_found",
    ],
    ["without a readable manifest", () => tarArchive([{ name: "manifest.json", content: "{" }]), "image_invalid"],
  ])("%s is refused, and leaves nothing behind", async (_name, bytes, code) => {
    await expect(run(file("a.tar", bytes()))).rejects.toMatchObject({ code });
    expect(leftovers()).toEqual([]);
  });
});

describe("an OCI layout", () => {
  const gz = makeImage({
    layers: [gzipSync(plain), gzipSync(second)],
    layerType: "application/vnd.oci.image.layer.v1.tar+gzip",
    diffIds: [sha256(plain), sha256(second)],
  });

  it("in an archive keeps the digest that registries know", async () => {
    const { record } = await run(file("a.tar", layoutArchive(gz)), named);
    expect(record.digest).toBe(gz.manifest.digest);
  });

  it("in a folder is found by tag, and gives this machine's image of an index", async () => {
    const foreign = makeImage({ layers: [second], architecture: "arm64" });
    const index = makeIndex([
      { image: foreign, platform: { os: "linux", architecture: "arm64" } },
      { image: gz, platform: { os: "linux", architecture: "amd64" } },
    ]);
    const path = join(folder, "layout");
    writeLayout(path, "one", index, [gz, foreign]);
    const { record } = await run(`oci:${path}:one`, named);
    expect(record).toMatchObject({ digest: index.digest, manifestDigest: gz.manifest.digest });
    await expect(run(`oci:${path}:two`, named)).rejects.toMatchObject({ code: "image_not_found" });
    expect((await run(path, named)).record.digest).toBe(index.digest);
  });

  it("that does not say its name wants one", async () => {
    await expect(run(file("a.tar", layoutArchive(gz)))).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("in a folder is not read through links, nor from a pipe", async () => {
    const path = join(folder, "layout");
    writeLayout(path, "one", gz.manifest, [gz]);
    const blob = join(path, "blobs", "sha256", digestHex(gz.config.digest));
    rmSync(blob);
    symlinkSync(file("elsewhere", gz.config.bytes), blob);
    await expect(run(path, named)).rejects.toMatchObject({ code: "image_invalid" });
  });

  it.each<[string, () => Buffer, string]>([
    [
      "whose layer was changed",
      () =>
        layoutArchive(gz, (name, bytes) =>
          name.endsWith(digestHex(sha256(gzipSync(plain)))) ? Buffer.from(bytes).fill(1, 50, 60) : bytes,
        ),
      "digest_mismatch",
    ],
    [
      "whose manifest was changed",
      () =>
        layoutArchive(gz, (name, bytes) =>
          name.endsWith(digestHex(gz.manifest.digest)) ? Buffer.from(bytes).fill(0x20, 1, 2) : bytes,
        ),
      "digest_mismatch",
    ],
    [
      "whose layer unpacks to something else",
      () =>
        layoutArchive(
          makeImage({
            layers: [gzipSync(plain)],
            layerType: "application/vnd.oci.image.layer.v1.tar+gzip",
            diffIds: [sha256(second)],
          }),
        ),
      "digest_mismatch",
    ],
    [
      "whose layer is not compressed as it says",
      () =>
        layoutArchive(
          makeImage({
            layers: [plain],
            layerType: "application/vnd.oci.image.layer.v1.tar+gzip",
            diffIds: [sha256(plain)],
          }),
        ),
      "image_invalid",
    ],
    [
      "whose layer is compressed and says it is not",
      () => layoutArchive(makeImage({ layers: [gzipSync(plain)], diffIds: [sha256(plain)] })),
      "image_invalid",
    ],
    [
      "with a blob that is cut",
      () => layoutArchive(gz, (_, bytes) => (bytes.length > 1000 ? bytes.subarray(0, 900) : bytes)),
      "image_invalid",
    ],
    [
      "without images",
      () =>
        tarArchive([
          { name: "oci-layout", content: "{}" },
          { name: "index.json", content: '{"manifests":[]}' },
        ]),
      "image_invalid",
    ],
    [
      "with an index larger than any is",
      () =>
        tarArchive([
          { name: "oci-layout", content: "{}" },
          { name: "index.json", content: Buffer.alloc(5_000_000, " ") },
        ]),
      "image_invalid",
    ],
  ])("%s is refused, and no image is left", async (_name, bytes, code) => {
    await expect(run(file("a.tar", bytes()), named)).rejects.toMatchObject({ code });
    expect(leftovers()).toEqual([]);
  });

  it("whose layer is a bomb is refused", async () => {
    const zeros = Buffer.alloc(20_000_000);
    const bomb = makeImage({
      layers: [gzipSync(zeros)],
      layerType: "application/vnd.oci.image.layer.v1.tar+gzip",
      diffIds: [sha256(zeros)],
    });
    const limits = { ...defaultUnpackLimits, freeBytes: 1_000_000 };
    await expect(run(file("a.tar", layoutArchive(bomb)), { ...named, limits })).rejects.toThrow(/unpacks to more/);
    expect(leftovers()).toEqual([]);
  });

  it("made of any JSON is an image or one kind of error", async () => {
    const manifest = JSON.parse(gz.manifest.bytes.toString());
    const anyManifest = fc.record({
      schemaVersion: fc.constantFrom(2, 1, "2", null),
      mediaType: fc.constantFrom(manifest.mediaType, undefined, 7),
      config: fc.oneof(fc.constant(manifest.config), fc.jsonValue()),
      layers: fc.oneof(fc.constant(manifest.layers), fc.jsonValue(), fc.array(fc.jsonValue())),
    });
    await fc.assert(
      fc.asyncProperty(anyManifest, async (value) => {
        const made = { ...gz, manifest: documentOf(value, "") };
        try {
          await run(file("a.tar", layoutArchive(made)), named);
        } catch (error) {
          expect(isAgentKernelError(error)).toBe(true);
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe("other sources", () => {
  it("skopeo's dir: is read by its digests", async () => {
    const path = join(folder, "dir");
    mkdirSync(path);
    writeFileSync(join(path, "version"), "Directory Transport Version: 1.1\n");
    writeFileSync(join(path, "manifest.json"), image.manifest.bytes);
    for (const { digest, bytes } of [image.config, ...image.layers])
      writeFileSync(join(path, digestHex(digest)), bytes);
    for (const source of [path, `dir:${path}`]) {
      expect((await run(source, named)).record.digest).toBe(image.manifest.digest);
    }
  });

  it("an archive that is no image is a root filesystem, the same every time", async () => {
    const first = await run(file("root.tar", plain), named);
    expect(first.record.layers).toEqual([{ digest: sha256(plain), sizeBytes: plain.length, compression: "none" }]);
    const again = await run(`rootfs:${file("root.tar.gz", gzipSync(plain))}`, named);
    expect(again.record.digest).toBe(first.record.digest);
    expect(again.previous?.digest).toBe(first.record.digest);
  });

  it("what is no archive at all is refused", async () => {
    await expect(run(file("x", noise(5000, "x")), named)).rejects.toMatchObject({ code: "image_invalid" });
    await expect(run(join(folder, "none"), named)).rejects.toMatchObject({ code: "not_found" });
    const xz = Buffer.concat([Buffer.from("fd377a585a00", "hex"), Buffer.alloc(100)]);
    await expect(run(file("x.xz", xz), named)).rejects.toThrow(/compressed with xz/);
  });
});

describe("a file that is no archive", () => {
  it("is named, with what could be named instead", async () => {
    const path = file("main.py", Buffer.from("print(1)\n"));
    const refused = await run(path).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "image_invalid",
      message: expect.stringContaining(`${path} is no image: `),
      hint: expect.stringContaining("docker save"),
    });
  });
});
