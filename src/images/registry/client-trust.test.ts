/** Whom the client trusts with what: logins, tokens, redirects. THREATS A8. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isBlob, MemorySink, redirect, reply } from "../../../test/support/registry-answers.js";
import { makeImage, noise } from "../../../test/support/registry-image.js";
import { ScriptedRegistry } from "../../../test/support/registry-scripted.js";
import { type ClientOptions, RegistryClient } from "./client.js";
import { endpointsOf } from "./endpoint.js";

const image = makeImage({ layers: [noise(3_000_000, "layer")] });
const [layer = image.config] = image.layers;
const quick = { attempts: 3, firstPauseMs: 1, maxPauseMs: 2 };
const password = { kind: "password", username: "user", password: "s3cret" } as const;

let registry: ScriptedRegistry;
let other: ScriptedRegistry;
const clients: RegistryClient[] = [];

beforeEach(async () => {
  registry = await ScriptedRegistry.start();
  other = await ScriptedRegistry.start();
  registry.addImage("team/app", "1", image);
  other.addImage("team/app", "1", image);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await registry.stop();
  await other.stop();
});

function clientOf(host = registry.host, options: ClientOptions = {}): RegistryClient {
  const [endpoint] = endpointsOf(host);
  if (endpoint === undefined) throw new Error("no endpoint");
  const client = new RegistryClient(endpoint, "team/app", { retry: quick, ...options });
  clients.push(client);
  return client;
}

describe("a login", () => {
  const credentials = async () => password;
  const basic = `Basic ${Buffer.from("user:s3cret").toString("base64")}`;

  function tokenService(realmHost: string, tokens: ScriptedRegistry): void {
    registry.script = ({ url, authorization }, response) => {
      if (url.startsWith("/token")) return reply(200, {}, '{"token":"T1"}')(response);
      if (authorization === "Bearer T1") return false;
      const challenge = `Bearer realm="http://${realmHost}/token",service="svc",scope="repository:team/app:pull,push"`;
      return reply(401, { "www-authenticate": challenge })(response);
    };
    if (tokens !== registry) tokens.script = (_seen, response) => reply(200, {}, '{"access_token":"T1"}')(response);
  }

  it("is sent as Basic where that is asked for, and only then", async () => {
    registry.script = ({ authorization }, response) =>
      authorization !== basic && reply(401, { "www-authenticate": 'Basic realm="x"' })(response);
    await clientOf(registry.host, { credentials }).getManifest("1");
    expect(registry.seen.map(({ authorization }) => authorization)).toEqual([undefined, basic]);
  });

  it("is exchanged for a token to read this repository only, which is used from then on", async () => {
    tokenService(other.host, other);
    const client = clientOf(registry.host, { credentials });
    await client.getManifest("1");
    await client.getManifest("1");
    expect(other.seen).toHaveLength(1);
    expect(other.seen[0]?.authorization).toBe(basic);
    const asked = new URL(other.seen[0]?.url ?? "", "http://x").searchParams;
    expect(Object.fromEntries(asked)).toEqual({ service: "svc", scope: "repository:team/app:pull", account: "user" });
    expect(registry.seen.map(({ authorization }) => authorization)).toEqual([undefined, "Bearer T1", "Bearer T1"]);
  });

  it("of an identity token is sent in the body", async () => {
    tokenService(registry.host, registry);
    await clientOf(registry.host, { credentials: async () => ({ kind: "identity-token", token: "R" }) }).getManifest(
      "1",
    );
    const [request] = registry.requestsFor("/token");
    expect(request).toMatchObject({ method: "POST", url: "/token", authorization: undefined });
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toMatchObject({
      grant_type: "refresh_token",
      refresh_token: "R",
    });
  });

  it("that ran out is renewed once for all requests at the same time", async () => {
    tokenService(registry.host, registry);
    const client = clientOf(registry.host, { credentials });
    await Promise.all(Array.from({ length: 5 }, () => client.getManifest("1")));
    expect(registry.requestsFor("/token")).toHaveLength(1);
  });

  it("is not sent to a token service of another party", async () => {
    tokenService(`localhost:${other.port}`, other);
    const work = clientOf(registry.host, { credentials }).getManifest("1");
    await expect(work).rejects.toMatchObject({
      code: "registry_untrusted",
      message: expect.stringMatching(/another party/),
    });
    expect(other.seen).toEqual([]);
  });

  it("that is wrong is told apart from none, and stands in no message", async () => {
    registry.script = (_seen, response) =>
      reply(401, { "www-authenticate": 'Basic realm="x"' }, "user:s3cret")(response);
    const error: unknown = await clientOf(registry.host, { credentials })
      .getManifest("1")
      .catch((reason) => reason);
    expect(error).toMatchObject({ code: "registry_unauthorized", message: expect.stringMatching(/refused the login/) });
    expect(JSON.stringify(error) + String((error as Error).stack)).not.toContain("s3cret");
  });

  it.each<[string, string, RegExp]>([
    ["plain http elsewhere", "http://192.0.2.1/token", /plain http/],
    ["a private address", "https://10.0.0.1/token", /10\.0\.0\.1, an address that is not public/],
    ["cloud metadata", "https://169.254.169.254/token", /not public/],
    ["a file", "file:///etc/passwd", /file:/],
    ["nothing", "::::", /no address/],
  ])("is asked for at no token service on %s", async (_name, realm, message) => {
    registry.script = (_seen, response) => reply(401, { "www-authenticate": `Bearer realm="${realm}"` })(response);
    await expect(clientOf().getManifest("1")).rejects.toThrow(message);
  });

  it.each(['{"token":"a\\nb"}', "{}", "T1", `{"token":"${"x".repeat(300_000)}"}`])(
    "gives no token from the answer %.20s",
    async (answer) => {
      registry.script = ({ url }, response) =>
        url.startsWith("/token")
          ? reply(200, {}, answer)(response)
          : reply(401, { "www-authenticate": `Bearer realm="http://${registry.host}/token"` })(response);
      await expect(clientOf().getManifest("1")).rejects.toMatchObject({ code: "registry_error" });
    },
  );
});

describe("a redirect", () => {
  it("leads to where the blobs lie, with the range and without the login", async () => {
    registry.script = (seen, response) => {
      if (seen.authorization === undefined) return reply(401, { "www-authenticate": "Basic" })(response);
      return isBlob(seen) && redirect(`http://${other.host}${seen.url}`)(response);
    };
    const sink = new MemorySink();
    await sink.write(layer.bytes.subarray(0, 10));
    await clientOf(registry.host, { credentials: async () => password }).fetchBlob(
      layer.digest,
      layer.bytes.length,
      sink,
    );
    expect(sink.bytes.equals(layer.bytes)).toBe(true);
    expect(other.seen.map(({ authorization, range }) => ({ authorization, range }))).toEqual([
      { authorization: undefined, range: "bytes=10-" },
    ]);
  });

  it("cannot ask for the login in the registry's name", async () => {
    registry.script = (seen, response) => redirect(`http://${other.host}${seen.url}`)(response);
    other.script = (_seen, response) => reply(401, { "www-authenticate": "Basic" })(response);
    const work = clientOf(registry.host, { credentials: async () => password }).getManifest("1");
    await expect(work).rejects.toMatchObject({ code: "registry_unauthorized" });
    expect(other.seen.map(({ authorization }) => authorization)).toEqual([undefined]);
  });

  it.each<[string, string, RegExp]>([
    ["a private address", "https://10.1.2.3/x", /10\.1\.2\.3, an address that is not public/],
    ["cloud metadata", "https://169.254.169.254/latest", /not public/],
    ["an address in disguise", "https://0xa9fea9fe/x", /169\.254\.169\.254/],
    ["a mapped address", "https://[::ffff:10.0.0.1]/x", /not public/],
    ["plain http", "http://192.0.2.1/x", /plain http/],
    ["another scheme", "file:///etc/passwd", /file:/],
    ["a login", "https://u:p@192.0.2.1/x", /login in it/],
    ["nonsense", "http://[", /no address/],
  ])("to %s is refused", async (_name, location, message) => {
    registry.script = (_seen, response) => redirect(location)(response);
    await expect(clientOf().getManifest("1")).rejects.toThrow(message);
  });

  it("without end is cut", async () => {
    registry.script = (seen, response) => redirect(seen.url)(response);
    await expect(clientOf().getManifest("1")).rejects.toThrow(/more than 5 times/);
    expect(registry.seen).toHaveLength(6);
  });
});
