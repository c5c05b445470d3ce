/** Pulling from Debian's docker-registry on loopback: what skopeo pushed arrives whole, whatever dies on the way. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { watch } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hostPlatform, type ImageRecord, ImageStore, parseReference, pull } from "../../src/images/index.js";
import { makeImage, makeIndex, noise } from "../support/registry-image.js";
import { pushLayout, tarLayer, writeLayout } from "../support/registry-push.js";
import { RealRegistry } from "../support/registry-real.js";
import { TokenService } from "../support/registry-tokens.js";
import { repository } from "../support/repository.js";

const LOGIN = "user:right password";
const { architecture } = hostPlatform();
const MIB = 1024 * 1024;

let folder = "";
let layout = "";
let puller = "";
let registry: RealRegistry;
let image: ReturnType<typeof makeImage>;
let root = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-images-"));
  layout = join(folder, "layout");
  const layers = [
    tarLayer(folder, "small", noise(10_000, "small")),
    tarLayer(folder, "large", noise(24 * MIB, "large")),
    tarLayer(folder, "middle", noise(MIB, "middle")),
  ];
  image = makeImage({ layers, architecture, layerType: "application/vnd.oci.image.layer.v1.tar+gzip" });
  const foreign = makeImage({ layers: [noise(100, "foreign")], architecture: "s390x" });
  const index = makeIndex([
    { image: foreign, platform: { os: "linux", architecture: "s390x" } },
    { image, platform: { os: "linux", architecture } },
  ]);
  writeLayout(layout, "1", index, [image, foreign]);
  registry = await RealRegistry.start();
  await pushLayout(layout, "1", `${registry.host}/team/app:1`);
  puller = join(folder, "puller.mjs");
  await build({
    entryPoints: [join(repository, "test/support/registry-puller.ts")],
    outfile: puller,
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
});
afterAll(async () => {
  await registry.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  root = mkdtempSync(join(folder, "store-"));
  registry.requests.length = 0;
});

async function startPuller(...words: string[]): Promise<{ child: ChildProcess; firstLine: string }> {
  const args = [puller, root, `${registry.host}/team/app:1`, ...words];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  const firstLine = new Promise<string>((resolve, reject) => {
    child.stdout?.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")));
    });
    child.once("exit", () => reject(new Error(`the puller ended: ${text}`)));
  });
  return { child, firstLine: await firstLine };
}

async function untilFiles(path: string, count: number): Promise<void> {
  const changes = watch(path);
  try {
    if (readdirSync(path).length >= count) return;
    for await (const _change of changes) if (readdirSync(path).length >= count) return;
  } finally {
    await changes[Symbol.asyncIterator]().return?.();
  }
}

async function expectWhole(record: ImageRecord | null): Promise<void> {
  expect(record).toMatchObject({ manifestDigest: image.manifest.digest });
  const store = await ImageStore.open(root);
  for (const { digest, bytes } of [image.manifest, image.config, ...image.layers]) {
    expect((await store.blobs.read(digest)).equals(bytes)).toBe(true);
  }
  expect(readdirSync(join(root, "partial"))).toEqual([]);
}

describe("a pull from a real registry", () => {
  it("brings this machine's image of an index, byte for byte as it was pushed", async () => {
    const store = await ImageStore.open(root);
    const { record } = await pull(parseReference(`${registry.host}/team/app:1`), { store });
    await expectWhole(record);
    const raw = execFileSync("skopeo", [
      "inspect",
      "--raw",
      "--tls-verify=false",
      `docker://${registry.host}/team/app:1`,
    ]);
    expect(await store.blobs.read(record.digest)).toEqual(raw);
  });

  it("reads Docker's own kinds of manifest too", async () => {
    const single = join(folder, "single");
    writeLayout(single, "1", image.manifest, [image]);
    await pushLayout(single, "1", `${registry.host}/team/docker:1`, { format: "v2s2" });
    const store = await ImageStore.open(root);
    const { record } = await pull(parseReference(`${registry.host}/team/docker:1`), { store });
    expect(record.layers.map(({ compression }) => compression)).toEqual(["gzip", "gzip", "gzip"]);
  });

  it("says that a tag or a name is not there", async () => {
    const store = await ImageStore.open(root);
    for (const name of ["team/app:none", "none/none:1"]) {
      const work = pull(parseReference(`${registry.host}/${name}`), { store });
      await expect(work).rejects.toMatchObject({ code: "image_not_found" });
    }
  });

  it("goes on after kill -9 from where it was, and asks for no byte twice", async () => {
    const { child, firstLine } = await startPuller(String(8 * MIB));
    expect(firstLine).toBe("stopped");
    child.kill("SIGKILL");
    await once(child, "exit");
    const parts = readdirSync(join(root, "partial")).map((name) => statSync(join(root, "partial", name)).size);
    const kept = Math.max(...parts);
    expect(kept).toBeGreaterThanOrEqual(8 * MIB);
    expect(await (await ImageStore.open(root)).list()).toEqual([]);

    await registry.logFlushed();
    registry.requests.length = 0;
    const store = await ImageStore.open(root);
    const { record } = await pull(parseReference(`${registry.host}/team/app:1`), { store });
    await expectWhole(record);
    await registry.logFlushed();
    const large = image.layers[1];
    const rest = registry.blobDownloads().filter(({ path }) => path.endsWith(large?.digest ?? "-"));
    expect(rest).toMatchObject([{ status: 206, bytes: (large?.bytes.length ?? 0) - kept }]);
    expect(readdirSync(join(root, "pins")).length).toBe(1);
    await store.clear();
    expect(readdirSync(join(root, "pins"))).toEqual([]);
  });

  it("by two processes at once downloads each blob once", async () => {
    const results = await Promise.all([startPuller(), startPuller()]);
    for (const { firstLine } of results) await expectWhole(JSON.parse(firstLine).record);
    await registry.logFlushed();
    const paths = registry.blobDownloads().map(({ path }) => path);
    expect(paths.sort()).toEqual(
      [image.config, ...image.layers].map(({ digest }) => `/v2/team/app/blobs/${digest}`).sort(),
    );
  });

  it("is taken over by a process that waits for it when the one that downloads is killed", async () => {
    const { child } = await startPuller(String(8 * MIB));
    const second = startPuller();
    // It has come as far as the layers once it has pinned the image too.
    await untilFiles(join(root, "pins"), 2);
    child.kill("SIGKILL");
    await expectWhole(JSON.parse((await second).firstLine).record);
  });
});

describe("a registry behind a login", () => {
  const credentials = async () => ({ kind: "password", username: "user", password: "right password" }) as const;
  const wrong = async () => ({ kind: "password", username: "user", password: "wrong" }) as const;

  async function expectLogin(locked: RealRegistry): Promise<void> {
    await pushLayout(layout, "1", `${locked.host}/team/app:1`, { login: LOGIN });
    const store = await ImageStore.open(root);
    const reference = parseReference(`${locked.host}/team/app:1`);
    const none = pull(reference, { store });
    await expect(none).rejects.toMatchObject({
      code: "registry_unauthorized",
      message: expect.stringMatching(/wants a login/),
    });
    const bad = pull(reference, { store, credentials: wrong });
    await expect(bad).rejects.toMatchObject({
      code: "registry_unauthorized",
      message: expect.stringMatching(/refused the login/),
    });
    const { record } = await pull(reference, { store, credentials });
    await expectWhole(record);
  }

  it("by password gives its images to who has it", async () => {
    const passwords = join(folder, "passwords");
    mkdirSync(passwords);
    const hashed = execFileSync("perl", [
      "-e",
      'print crypt($ARGV[0], "\\$2b\\$05\\$abcdefghijklmnopqrstuu")',
      "right password",
    ]);
    writeFileSync(join(passwords, "htpasswd"), `user:${hashed}\n`);
    const locked = await RealRegistry.start({ htpasswd: { realm: "test", path: join(passwords, "htpasswd") } });
    try {
      await expectLogin(locked);
    } finally {
      await locked.stop();
    }
  });

  it("by token service gives its images to who has a token", async () => {
    const tokens = await TokenService.start(folder, LOGIN);
    const locked = await RealRegistry.start(tokens.auth);
    try {
      await expectLogin(locked);
      const pulls = tokens.asked.filter(({ scope }) => scope === "repository:team/app:pull");
      expect(pulls.map(({ known }) => known)).toContain(true);
    } finally {
      await locked.stop();
      await tokens.stop();
    }
  });
});
