/** The client against a registry that is lenient, broken or lying. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isBlob, isManifest, MemorySink, reply } from "../../../test/support/registry-answers.js";
import { makeImage, noise } from "../../../test/support/registry-image.js";
import { ScriptedRegistry } from "../../../test/support/registry-scripted.js";
import { type ClientOptions, RegistryClient } from "./client.js";
import { endpointsOf } from "./endpoint.js";

const image = makeImage({ layers: [noise(3_000_000, "layer")] });
const [layer = image.config] = image.layers;
const quick = { attempts: 3, firstPauseMs: 1, maxPauseMs: 2 };

let registry: ScriptedRegistry;
const clients: RegistryClient[] = [];

beforeEach(async () => {
  registry = await ScriptedRegistry.start();
  registry.addImage("team/app", "1", image);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await registry.stop();
});

function clientOf(host = registry.host, options: ClientOptions = {}): RegistryClient {
  const [endpoint] = endpointsOf(host);
  if (endpoint === undefined) throw new Error("no endpoint");
  const client = new RegistryClient(endpoint, "team/app", { retry: quick, ...options });
  clients.push(client);
  return client;
}

describe("a registry that is as it should be", () => {
  it("serves a manifest by tag and by digest, and says what a tag points to", async () => {
    const client = clientOf();
    expect(await client.headManifest("1")).toBe(image.manifest.digest);
    const byTag = await client.getManifest("1");
    expect(byTag).toMatchObject({ digest: image.manifest.digest, bytes: image.manifest.bytes });
    expect((await client.getManifest(image.manifest.digest)).digest).toBe(image.manifest.digest);
  });

  it("serves a blob, and the rest of one", async () => {
    const sink = new MemorySink();
    await sink.write(layer.bytes.subarray(0, 1000));
    await clientOf().fetchBlob(layer.digest, layer.bytes.length, sink);
    expect(sink.bytes.equals(layer.bytes)).toBe(true);
    expect(registry.requestsFor("/blobs/")[0]?.range).toBe("bytes=1000-");
  });

  it("that does not know ranges serves the whole again", async () => {
    registry.script = (seen, response) => isBlob(seen) && reply(200, {}, layer.bytes)(response);
    const sink = new MemorySink();
    await sink.write(layer.bytes.subarray(0, 1000));
    await clientOf().fetchBlob(layer.digest, layer.bytes.length, sink);
    expect(sink.bytes.equals(layer.bytes)).toBe(true);
  });
});

describe("a registry that refuses", () => {
  it.each<[number, string, RegExp]>([
    [401, "registry_unauthorized", /wants a login/],
    [403, "registry_unauthorized", /403/],
    [404, "image_not_found", /has no image team\/app:1/],
    [429, "rate_limited", /no more downloads/],
    [500, "registry_error", /answered 500/],
    [418, "registry_error", /answered 418/],
  ])("with %i gives its own message", async (status, code, message) => {
    registry.script = (_seen, response) => reply(status, {}, '{"errors":[{"message":"\u001b[2J"}]}')(response);
    const work = clientOf().getManifest("1");
    await expect(work).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it("for a moment is asked again after the pause it names", async () => {
    let refusals = 2;
    registry.script = (_seen, response) => {
      refusals -= 1;
      return refusals >= 0 && reply(429, { "retry-after": "0" })(response);
    };
    expect((await clientOf().getManifest("1")).digest).toBe(image.manifest.digest);
    expect(registry.seen).toHaveLength(3);
  });

  it("for an hour is not waited for", async () => {
    registry.script = (_seen, response) => reply(429, { "retry-after": "3600" })(response);
    await expect(clientOf().getManifest("1")).rejects.toThrow(/wait 3600 s/);
    expect(registry.seen).toHaveLength(1);
  });
});

describe("a manifest", () => {
  it("that is not the digest that was asked for is refused", async () => {
    registry.script = (seen, response) => isManifest(seen) && reply(200, {}, "{}")(response);
    const work = clientOf().getManifest(image.manifest.digest);
    await expect(work).rejects.toMatchObject({ code: "digest_mismatch" });
  });

  it("that is not what its own header says is refused", async () => {
    const headers = { "docker-content-digest": layer.digest };
    registry.script = (seen, response) => isManifest(seen) && reply(200, headers, "{}")(response);
    await expect(clientOf().getManifest("1")).rejects.toMatchObject({ code: "digest_mismatch" });
  });

  it("without end is cut at 4 MiB", async () => {
    let sent = 0;
    registry.script = (_seen, response) => {
      const chunk = Buffer.alloc(256 * 1024, " ");
      const more = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
        sent += chunk.length;
      };
      response.writeHead(200).on("drain", more);
      more();
      return true;
    };
    await expect(clientOf().getManifest("1")).rejects.toMatchObject({ code: "image_invalid" });
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });
});

describe("a blob", () => {
  it("that breaks off again and again is resumed each time", async () => {
    registry.script = (seen, response) => {
      if (!isBlob(seen)) return false;
      const start = Number(/\d+/.exec(seen.range ?? "0")?.[0]);
      const { length } = layer.bytes;
      const headers = { "content-length": length - start, "content-range": `bytes ${start}-${length - 1}/${length}` };
      response.writeHead(start > 0 ? 206 : 200, headers);
      const part = layer.bytes.subarray(start, start + 1_100_000);
      if (start + part.length === length) response.end(part);
      else response.write(part, () => response.destroy());
      return true;
    };
    const sink = new MemorySink();
    await clientOf(registry.host, { retry: { ...quick, attempts: 2 } }).fetchBlob(
      layer.digest,
      layer.bytes.length,
      sink,
    );
    expect(sink.bytes.equals(layer.bytes)).toBe(true);
    expect(registry.requestsFor("/blobs/").length).toBeGreaterThanOrEqual(3);
  });

  it("that is always shorter than it should be is told as such, and what came is kept", async () => {
    const sink = new MemorySink();
    registry.script = (seen, response) => {
      if (!isBlob(seen)) return false;
      return seen.range === undefined
        ? reply(200, {}, "abc")(response)
        : reply(206, { "content-range": "bytes 3-9/10" })(response);
    };
    await expect(clientOf().fetchBlob(layer.digest, 10, sink)).rejects.toThrow(/sent only 3 of the 10 bytes/);
    expect(sink.offset).toBe(3);
  });

  it("that is longer than it should be is cut off", async () => {
    const sink = new MemorySink();
    const work = clientOf().fetchBlob(layer.digest, 1000, sink);
    await expect(work).rejects.toMatchObject({
      code: "digest_mismatch",
      message: expect.stringMatching(/more than the 1000/),
    });
    expect(sink.offset).toBe(0);
  });

  it("whose part is another than asked for is not mixed in", async () => {
    registry.script = (seen, response) =>
      isBlob(seen) && seen.range !== undefined && reply(206, { "content-range": "bytes 5-9/10" }, "xxxxx")(response);
    const sink = new MemorySink();
    await sink.write(Buffer.from("junk"));
    await clientOf().fetchBlob(layer.digest, layer.bytes.length, sink);
    expect(sink.bytes.equals(layer.bytes)).toBe(true);
  });

  it("that stops coming is given up", async () => {
    registry.script = (seen, response) => isBlob(seen) && typeof response.writeHead(200).write("a") === "boolean";
    const client = clientOf(registry.host, { timeouts: { stallMs: 20 }, retry: { ...quick, attempts: 1 } });
    await expect(client.fetchBlob(layer.digest, 10, new MemorySink())).rejects.toThrow(/next to nothing/);
  });
});

describe("a connection", () => {
  it("that cannot be made says that nothing listens", async () => {
    const gone = await ScriptedRegistry.start();
    const { host } = gone;
    await gone.stop();
    const work = clientOf(host).getManifest("1");
    await expect(work).rejects.toMatchObject({
      code: "registry_unreachable",
      message: expect.stringMatching(/nothing listens/),
    });
  });

  it("that is not answered ends in time", async () => {
    registry.script = () => true;
    const client = clientOf(registry.host, { timeouts: { answerMs: 20 }, retry: { ...quick, attempts: 1 } });
    await expect(client.getManifest("1")).rejects.toThrow(/did not answer within/);
  });

  it("that breaks is made again", async () => {
    registry.script = (seen, response) => {
      if (!isManifest(seen) || registry.requestsFor("/manifests/").length > 1) return false;
      response.destroy();
      return true;
    };
    expect((await clientOf().getManifest("1")).digest).toBe(image.manifest.digest);
  });

  it("ends with the caller's reason when it is called off", async () => {
    const stop = new AbortController();
    registry.script = (seen) => {
      if (seen.url !== "/v2/") stop.abort(new Error("called off"));
      return seen.url !== "/v2/";
    };
    await expect(clientOf(registry.host, { signal: stop.signal }).getManifest("1")).rejects.toThrow("called off");
  });

  it("with a certificate that nobody vouches for is refused, and never replaced by plain HTTP", async () => {
    const folder = mkdtempSync(join(tmpdir(), "agentkernel-tls-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
    const make = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
    execFileSync("openssl", [...make, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
    const secure = await ScriptedRegistry.start({ key: readFileSync(key), cert: readFileSync(cert) });
    rmSync(folder, { recursive: true });
    try {
      const work = clientOf(secure.host).getManifest("1");
      await expect(work).rejects.toMatchObject({
        code: "registry_untrusted",
        message: expect.stringMatching(/certificate .* is not valid/),
      });
      expect(secure.seen).toEqual([]);
    } finally {
      await secure.stop();
    }
  });
});

describe("a mirror", () => {
  it.each(["http://mirror.example", "ftp://localhost", "https://u:p@a.example", "https://a.example/path", "http://"])(
    "cannot be %s",
    (address) => {
      expect(() => endpointsOf("docker.io", { "docker.io": [address] })).toThrow(/is no mirror/);
    },
  );

  it("comes before its registry, and is not one for another", () => {
    const mirrors = { "docker.io": ["https://a.example", "http://localhost:5000", "localhost:5001"] };
    expect(endpointsOf("docker.io", mirrors).map(({ origin }) => origin)).toEqual([
      "https://a.example",
      "http://localhost:5000",
      "https://localhost:5001",
      "https://registry-1.docker.io",
    ]);
    expect(endpointsOf("b.example", mirrors)).toHaveLength(1);
  });
});
