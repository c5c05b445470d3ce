/** `images pull` and `images lock` as a user runs them, against a registry that does what the test says. */
import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { watch } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { digestHex, hostPlatform, ImageStore } from "../../src/images/index.js";
import { actors } from "../support/actors.js";
import { ConnectProxy } from "../support/connect-proxy.js";
import { clientOf } from "../support/daemon.js";
import { isBlob, isManifest, reply } from "../support/registry-answers.js";
import { makeImage, noise, sha256 } from "../support/registry-image.js";
import { ScriptedRegistry } from "../support/registry-scripted.js";
import { type CliResult, runCli } from "../support/run-cli.js";
import { tarArchive } from "../support/tar-archive.js";
import { type TestIdentity, tlsIdentity } from "../support/tls-identity.js";
import { WatchedCli } from "../support/watched-cli.js";

const { architecture } = hostPlatform();
const tar = (seed: string): Buffer => tarArchive([{ name: "file", content: noise(2_000_000, seed) }]);
const madeOf = (...seeds: string[]) =>
  makeImage({
    architecture,
    layers: seeds.map((seed) => gzipSync(tar(seed), { level: 1 })),
    layerType: "application/vnd.oci.image.layer.v1.tar+gzip",
    diffIds: seeds.map((seed) => sha256(tar(seed))),
  });
const image = madeOf("one", "two");
const moved = madeOf("one", "three");
const [layer = image.config] = image.layers;

const [actor] = actors;
if (actor === undefined) throw new Error("there is an actor");

let registry: ScriptedRegistry;
let data = "";
let project = "";
let env: Record<string, string> = {};
beforeEach(async () => {
  registry = await ScriptedRegistry.start();
  registry.addImage("team/app", "1", image);
  data = actor.folder("data");
  project = actor.folder();
  env = { XDG_DATA_HOME: data };
  // The folder that tests look into is there from the start.
  await images(["list"]);
});
afterEach(() => registry.stop());

const app = (tag = "1"): string => `${registry.host}/team/app:${tag}`;
const store = (): string => join(data, "agentkernel", "images");
const images = (words: readonly string[], more: Record<string, string> = {}): Promise<CliResult> =>
  runCli(actor, ["images", ...words], { env: { ...env, ...more }, cwd: project });
const pulledJson = async (...words: string[]) => {
  const { status, stdout } = await images(["pull", "--json", ...words]);
  expect({ status, stdout }).toMatchObject({ status: 0 });
  return JSON.parse(stdout).data;
};
const login = (text: string): Record<string, string> => {
  const folder = actor.folder("docker");
  const auth = Buffer.from(text).toString("base64");
  writeFileSync(join(folder, "config.json"), JSON.stringify({ auths: { [registry.host]: { auth } } }), { mode: 0o644 });
  return { DOCKER_CONFIG: folder };
};

/** Resolves when this many bytes of the first layer are in the store. */
async function untilPart(bytes: number): Promise<void> {
  const folder = join(store(), "partial");
  const changes = watch(folder);
  const come = (): boolean =>
    readdirSync(folder)
      .filter((name) => name.startsWith(digestHex(layer.digest)))
      .some((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size === bytes);
  if (come()) return;
  for await (const _change of changes) if (come()) return;
}

describe("a pull", () => {
  it("piped says one line, and has said all with it", async () => {
    const { status, stdout, stderr } = await images(["pull", app()]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(
      new RegExp(`^${app()} ${image.manifest.digest} \\(linux/\\w+, 2 layers, [34]\\.\\d MiB\\)\n$`),
    );
    expect((await images(["pull", app()])).stdout).toContain("already here");
    expect(statSync(store()).mode & 0o777).toBe(0o700);
  });

  it("on a terminal shows a bar for each layer, and leaves one line", async () => {
    const command = `${process.execPath} ${join(actor.dist, "agentkernel.js")} images pull ${app()}`;
    const child = spawn("script", ["-qefc", command, "/dev/null"], {
      env: { PATH: "/usr/bin:/bin", HOME: actor.home, TERM: "xterm", ...env },
      ...(process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {}),
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0);
    expect(output).toMatch(/[0-9a-f]{12} \[[#.]+\] [\d.]+ (?:B|KiB|MiB) \/ (?:1\.9|2\.0) MiB/);
    expect(output.split("\x1b[J").at(-1)).toMatch(/^127\.0\.0\.1:\d+\/team\/app:1 sha256:[0-9a-f]{64} \(.*\)\r\n$/);
  });

  it("by two processes at once downloads each blob once", async () => {
    const both = await Promise.all([images(["pull", app()]), images(["pull", app()])]);
    expect(both.map(({ status }) => status)).toEqual([0, 0]);
    const blobs = registry.requestsFor("/blobs/").map(({ url }) => url);
    expect(blobs.sort()).toEqual([...new Set(blobs)].sort());
    expect(blobs).toHaveLength(3);
  });

  it("takes a mirror from an option and from the environment", async () => {
    registry.addImage("library/python", "3.12-alpine", image);
    const mirror = `http://${registry.host}`;
    const named = await images(["pull", "--json", "--mirror", mirror, "python:3.12-alpine"]);
    expect(JSON.parse(named.stdout).data).toMatchObject({ reference: "python:3.12-alpine", from: registry.host });
    data = actor.folder("data");
    env = { XDG_DATA_HOME: data, AGENTKERNEL_IMAGE_MIRRORS: mirror };
    expect(await pulledJson("python:3.12-alpine")).toMatchObject({ from: registry.host });
  });

  it("is kept from being removed while a process holds it", async () => {
    await pulledJson(app());
    const held = await (await ImageStore.open(store())).pin([image.manifest.digest]);
    const refused = await images(["remove", app()]);
    expect(refused).toMatchObject({ status: 125, stderr: expect.stringContaining(`in use by process ${process.pid}`) });
    expect((await images(["list"])).stdout).toContain(`process ${process.pid}`);
    await held.release();
    expect((await images(["remove", image.manifest.digest.slice(7, 20)])).status).toBe(0);
  });
});

describe("a pull that is cut off", () => {
  /** Sends the first bytes of the first layer and then holds, until the client is gone. */
  function holdAt(bytes: number): void {
    registry.script = ({ url, range }, response) => {
      if (!url.endsWith(layer.digest) || range !== undefined) return false;
      response.writeHead(200, { "content-length": layer.bytes.length });
      response.write(layer.bytes.subarray(0, bytes));
      return true;
    };
  }

  it.each([1, 4096, 65_537, 1_500_003])("by kill -9 after %d bytes goes on from there", async (bytes) => {
    holdAt(bytes);
    const first = new WatchedCli(actor, ["images", "pull", app()], { env });
    await untilPart(bytes);
    first.child.kill("SIGKILL");
    await first.end;
    expect(JSON.parse((await images(["list", "--json"])).stdout).data).toEqual([]);
    registry.seen.length = 0;
    expect(await pulledJson(app())).toMatchObject({ digest: image.manifest.digest });
    expect(registry.requestsFor(layer.digest).map(({ range }) => range)).toEqual([`bytes=${bytes}-`]);
    expect(readdirSync(join(store(), "partial"))).toEqual([]);
  });

  it("by Ctrl-C ends with its status, says so, and goes on the next time", async () => {
    holdAt(100_000);
    const first = new WatchedCli(actor, ["images", "pull", app()], { env });
    await untilPart(100_000);
    first.child.kill("SIGINT");
    expect(await first.end).toMatchObject({ status: 130, stderr: expect.stringMatching(/what came so far is kept/) });
    registry.seen.length = 0;
    await pulledJson(app());
    expect(registry.requestsFor(layer.digest).map(({ range }) => range)).toEqual(["bytes=100000-"]);
  });
});

describe("an import that is called off", () => {
  it.each([
    ["while it reads standard input", "-", { status: 130 }],
    ["while nobody opens the pipe that it reads", "pipe", { signal: "SIGINT" }],
  ])("%s ends soon, and leaves nothing", async (_name, source, end) => {
    execFileSync("mkfifo", ["-m", "666", join(project, "pipe")]);
    const child = new WatchedCli(actor, ["images", "import", source, "x:1"], { env, cwd: project });
    child.child.stdin?.write(Buffer.alloc(100_000));
    await untilItListens(child.pid);
    child.child.kill("SIGINT");
    expect(await child.end).toMatchObject(end);
    expect(["refs", "partial", "pins"].flatMap((folder) => readdirSync(join(store(), folder)))).toEqual([]);
  });

  /** The kernel says when the process has handlers; SIGQUIT is one that Node itself never has. */
  async function untilItListens(pid: number): Promise<void> {
    for (;;) {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const caught = BigInt(`0x${/^SigCgt:\s*(\S+)/m.exec(status)?.[1] ?? "0"}`);
      if ((caught & 4n) !== 0n) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
});

describe("a pull that fails says why", () => {
  let identity: TestIdentity;
  let folder = "";
  beforeAll(() => {
    folder = actor.folder("tls");
    identity = tlsIdentity(folder, ["DNS:registry.test"]);
  });

  async function expectFailure(code: string, message: RegExp, words = [app()], more = {}): Promise<void> {
    const { status, stderr } = await images(["pull", ...words], more);
    expect({ status, stderr }).toMatchObject({ status: 125, stderr: expect.stringMatching(message) });
    expect(stderr).toMatch(/^agentkernel: .*\n( {2}hint: .*\n)?$/);
    expect(JSON.parse((await images(["pull", "--json", ...words], more)).stdout).error.code).toBe(code);
    expect(readdirSync(join(store(), "refs"))).toEqual([]);
  }

  it("401 without a login, and with one", async () => {
    registry.script = (_seen, response) => reply(401, { "www-authenticate": "Basic" })(response);
    await expectFailure("registry_unauthorized", /wants a login for image team\/app:1/);
    await expectFailure(
      "registry_unauthorized",
      /refused the login for image team\/app:1/,
      [app()],
      login("user:s3cret"),
    );
  });

  it("404", () => expectFailure("image_not_found", /has no image team\/app:none/, [app("none")]));

  it("429", async () => {
    registry.script = (seen, response) => isManifest(seen) && reply(429, { "retry-after": "60" })(response);
    await expectFailure("rate_limited", /allows no more downloads for now; it asks to wait 60 s/);
  });

  it("a blob that is cut short", async () => {
    registry.script = ({ url, range }, response) => {
      if (!url.endsWith(layer.digest)) return false;
      const from = Number(/\d+/.exec(range ?? "")?.[0] ?? 0);
      const head = { "content-range": `bytes ${from}-/${layer.bytes.length}`, connection: "close" };
      response.writeHead(range === undefined ? 200 : 206, head).end(layer.bytes.subarray(from, 1000));
      return true;
    };
    await expectFailure("registry_error", /sent only 1000 of the \d+ bytes of blob sha256:/);
  });

  it("a blob that is another", async () => {
    registry.script = (seen, response) =>
      seen.url.endsWith(layer.digest) && reply(200, {}, noise(layer.bytes.length, "evil"))(response);
    await expectFailure("digest_mismatch", /what came for sha256:\w+… is something else/);
  });

  it("a certificate that nobody vouches for, and one that somebody does", async () => {
    const own = tlsIdentity(folder, ["IP:127.0.0.1"], "own");
    const secure = await ScriptedRegistry.start(own);
    try {
      secure.addImage("team/app", "1", image);
      const name = `${secure.host}/team/app:1`;
      await expectFailure("registry_untrusted", /TLS certificate of 127\.0\.0\.1:\d+ is not valid/, [name]);
      expect(secure.seen).toEqual([]);
      const trusted = await images(["pull", name], { NODE_EXTRA_CA_CERTS: own.certPath });
      expect(trusted).toMatchObject({ status: 0, stderr: "" });
    } finally {
      await secure.stop();
    }
  });

  it("nothing, where the client held the authorities back from Node", async () => {
    const own = tlsIdentity(folder, ["IP:127.0.0.1"], "held");
    const secure = await ScriptedRegistry.start(own);
    try {
      secure.addImage("team/app", "1", image);
      const told = join(data, "told");
      const node = join(data, "node");
      const note = `printf '%s\\n' "held=$AGENTKERNEL_HELD_CA_CERTS" "own=$NODE_EXTRA_CA_CERTS" >${told}`;
      writeFileSync(node, `#!/bin/sh\n${note}\nexec ${process.execPath} "$@"\n`, { mode: 0o755 });
      const held = { NODE_EXTRA_CA_CERTS: own.certPath, AGENTKERNEL_NODE: node };
      const pulled = await runCli(clientOf(actor), ["images", "pull", `${secure.host}/team/app:1`], {
        env: { ...env, ...held },
        cwd: project,
      });
      expect(pulled).toMatchObject({ status: 0, stderr: "" });
      expect(readFileSync(told, "utf8")).toBe(`held=${own.certPath}\nown=\n`);
    } finally {
      await secure.stop();
    }
  });

  it("nobody listening", async () => {
    const name = app();
    await registry.stop();
    await expectFailure("registry_unreachable", /nothing listens at 127\.0\.0\.1:\d+/, [name]);
    registry = await ScriptedRegistry.start();
  });

  it("no route, in a network that has none", async () => {
    const cli = [process.execPath, join(actor.dist, "agentkernel.js"), "images", "pull", "192.0.2.1/team/app:1"];
    const child = spawn("unshare", ["--map-root-user", "--net", ...cli], {
      env: { PATH: "/usr/bin:/bin", HOME: actor.home, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(125);
    expect(stderr).toMatch(/there is no route to 192\.0\.2\.1 \(ENETUNREACH\)/);
  });

  describe("through a proxy", () => {
    let secure: ScriptedRegistry;
    let proxy: ConnectProxy;
    beforeEach(async () => {
      secure = await ScriptedRegistry.start(identity);
      secure.addImage("team/app", "1", image);
      proxy = await ConnectProxy.start(secure.port);
    });
    afterEach(async () => {
      await proxy.stop();
      await secure.stop();
    });
    const proxied = (): Record<string, string> => ({
      HTTPS_PROXY: `http://user:p%40ss@${proxy.host}`,
      NODE_EXTRA_CA_CERTS: identity.certPath,
    });

    it("nothing: the image comes, the proxy is told the host and its login, and loopback goes past it", async () => {
      expect(await images(["pull", "registry.test/team/app:1"], proxied())).toMatchObject({ status: 0, stderr: "" });
      const login = `Basic ${Buffer.from("user:p@ss").toString("base64")}`;
      expect(new Set(proxy.asked.map((tunnel) => JSON.stringify(tunnel)))).toEqual(
        new Set([JSON.stringify({ authority: "registry.test:443", login })]),
      );
      proxy.asked.length = 0;
      expect(await images(["pull", app()], proxied())).toMatchObject({ status: 0 });
      expect(proxy.asked).toEqual([]);
    });

    it("a proxy that refuses, without its login", async () => {
      proxy.refuse = 407;
      const { stderr } = await images(["pull", "registry.test/team/app:1"], proxied());
      expect(stderr).toMatch(/the proxy 127\.0\.0\.1:\d+ wants another login \(407\)/);
      expect(stderr).not.toMatch(/p@ss|p%40ss/);
    });
  });
});

describe("a lock", () => {
  const lockFile = (): string => join(project, "agentkernel.lock");
  const locked = async (...words: string[]) => JSON.parse((await images(["lock", "--json", ...words])).stdout).data;

  it("holds an image to its digest, says when the tag has moved, and follows when told", async () => {
    expect(await locked(app())).toMatchObject([{ state: "locked", digest: image.manifest.digest }]);
    expect(JSON.parse(readFileSync(lockFile(), "utf8"))).toEqual({
      version: 1,
      images: { [app()]: { digest: image.manifest.digest } },
    });
    expect(await locked()).toMatchObject([{ state: "unchanged" }]);
    registry.addImage("team/app", "1", moved);
    const { stdout, stderr } = await images(["pull", app()]);
    expect(stdout).toContain(image.manifest.digest);
    expect(stderr).toMatch(new RegExp(`now is ${moved.manifest.digest.slice(0, 19)}….*\n.*images lock --update`));
    expect(await locked()).toMatchObject([
      { state: "moved", digest: image.manifest.digest, tag_digest: moved.manifest.digest },
    ]);
    expect(await locked("--update")).toMatchObject([{ state: "updated", digest: moved.manifest.digest }]);
    const after = await images(["pull", app()]);
    expect(after).toMatchObject({ stdout: expect.stringContaining(moved.manifest.digest), stderr: "" });
  });

  it("serves from the store when the registry is gone, and says that it cannot know more", async () => {
    await locked(app());
    await pulledJson(app());
    registry.script = (_seen, response) => reply(503)(response);
    const { status, stderr } = await images(["pull", app()]);
    expect(status).toBe(0);
    expect(stderr).toMatch(/whether .* has moved since it was locked is not known/);
  });

  it("that is damaged is an error that names it, and never ignored", async () => {
    writeFileSync(lockFile(), '{"version":1,"images":{');
    for (const words of [["pull", app()], ["lock"]]) {
      expect(await images(words)).toMatchObject({ status: 125, stderr: expect.stringContaining("agentkernel.lock") });
    }
    expect(registry.seen.filter((seen) => isBlob(seen) || isManifest(seen))).toEqual([]);
  });

  it("without which a moved tag is followed, and said", async () => {
    await pulledJson(app());
    registry.addImage("team/app", "1", moved);
    expect(await pulledJson(app())).toMatchObject({
      digest: moved.manifest.digest,
      previous_digest: image.manifest.digest,
      locked: false,
    });
  });
});
