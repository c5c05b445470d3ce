/** Requests by those who may not ask. Each is first shown to be served for those who may. */
import { execFile, spawn } from "node:child_process";
import { createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Actor, actors, root, user } from "../../support/actors.js";
import { ApiServer } from "../../support/api-server.js";
import { runCli } from "../../support/run-cli.js";
import { holdCli } from "../support/process-answers.js";

const run = promisify(execFile);
const command = { command: ["true"], network: false };

/** Listens, says where, and joins each connection to one to this port. */
const FORWARDER = `
import socket, sys, threading
def pump(a, b):
    while data := a.recv(65536): b.sendall(data)
    b.shutdown(socket.SHUT_WR)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    near, _ = listener.accept()
    far = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    for pair in ((near, far), (far, near)): threading.Thread(target=pump, args=pair, daemon=True).start()
`;

const bearer = (key: string): readonly string[] => ["-H", `Authorization: Bearer ${key}`];

function identityOf({ uid, gid }: Pick<Actor, "uid" | "gid">) {
  return process.getuid?.() === 0 ? { uid, gid } : {};
}

async function statusOf(actor: Pick<Actor, "uid" | "gid">, words: readonly string[]): Promise<number> {
  const identity = identityOf(actor);
  const { stdout } = await run("curl", ["-sS", "-o", "/dev/null", "-w", "%{http_code}", ...words], {
    ...identity,
    cwd: "/",
  });
  return Number(stdout);
}

describe("A1 requests of strangers, pages and forgers", () => {
  describe.each(actors)("to a server of $name's", (actor) => {
    let server: ApiServer;
    let key: string;
    beforeAll(async () => {
      server = await ApiServer.start(actor);
      key = await server.key("good", ["--scope", "run", "--scope", "read"]);
    });
    afterAll(async () => {
      await server.stop();
    });

    const words = () => ["-H", "Content-Type: application/json", "-d", JSON.stringify(command), `${server.url}/run`];

    it("the same user on the same machine needs what only that user can read", async () => {
      expect(await statusOf(actor, words())).toBe(401);
      expect(await statusOf(actor, [...bearer(server.localToken), ...words()])).toBe(200);
      const { stdout } = await runCli(server.actor, ["keys", "token"]);
      expect(stdout.trim()).toBe(server.localToken);
      const file = statSync(`${server.stateFolder}/api-tokens/${server.port}`);
      expect([file.mode & 0o777, file.uid]).toEqual([0o600, actor.uid]);
    });

    it("what is open to all stays so", async () => {
      expect(await statusOf(actor, [`${server.url}/health`])).toBe(200);
      expect(await statusOf(actor, [`${server.url}/version`])).toBe(200);
    });

    it("a forwarder of the same user does not lend its rights to those whom it passes on", async () => {
      // As plain `socat` does: bytes, and no header that tells of it.
      const forwarder = holdCli(
        spawn("python3", ["-c", FORWARDER, String(server.port)], { ...identityOf(actor), cwd: "/" }),
      );
      try {
        await forwarder.saw(/^\d+\n/);
        const url = `http://127.0.0.1:${forwarder.stdout().trim()}/run`;
        const through = (more: readonly string[]) => [...more, ...words().slice(0, -1), url];
        expect(await statusOf(actor, through(bearer(key)))).toBe(200);
        expect(await statusOf(actor, through([]))).toBe(401);
        for (const header of ["CF-Connecting-IP: 192.0.2.1", "X-Forwarded-Proto: https", "Via: 1.1 proxy"]) {
          expect(await statusOf(actor, through(["-H", header])), header).toBe(401);
        }
      } finally {
        forwarder.child.kill("SIGKILL");
        await forwarder.ended();
      }
    });

    it("the token of a server before, or of another port, is none", async () => {
      const other = await ApiServer.start(actor);
      const { localToken } = other;
      expect(await statusOf(actor, [...bearer(localToken), ...words()])).toBe(401);
      await other.stop();
      expect(existsSync(`${other.stateFolder}/api-tokens/${other.port}`)).toBe(false);
    });

    const stranger = actor === root ? user : root;
    it.runIf(stranger !== undefined)("another user of the machine, root too, needs one", async () => {
      if (stranger === undefined) return;
      expect(await statusOf(stranger, words())).toBe(401);
      expect(await statusOf(stranger, ["-H", `Authorization: Bearer ${key}`, ...words()])).toBe(200);
    });

    it.runIf(stranger !== undefined)(
      "nor does hanging up at once make a stranger's socket look like root's",
      async () => {
        if (stranger === undefined) return;
        // A socket that its process has closed is listed as nobody's, which reads as root's.
        const script =
          "import socket,sys\n" +
          "s=socket.create_connection(('127.0.0.1',int(sys.argv[1])))\n" +
          'b=b\'{"name":"orphan"}\'\n' +
          "s.sendall(b'POST /sandboxes HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n'%len(b)+b)\n" +
          "s.close()\n";
        const identity = process.getuid?.() === 0 ? { uid: stranger.uid, gid: stranger.gid } : {};
        for (let count = 0; count < 20; count++) {
          await run("python3", ["-c", script, String(server.port)], { ...identity, cwd: "/" });
        }
        const admin = await server.key(`look-${Date.now()}`, ["--scope", "admin"]);
        expect((await server.ask("GET", "/sandboxes", { key: admin })).json.data.sandboxes).toEqual([]);
      },
    );

    it.each([
      ["no scheme", (good: string) => good],
      ["another scheme", (good: string) => `Basic ${Buffer.from(`x:${good}`).toString("base64")}`],
      ["an empty one", () => "Bearer "],
      ["one letter more", (good: string) => `Bearer ${good}x`],
      ["one letter less", (good: string) => `Bearer ${good.slice(0, -1)}`],
      ["one letter changed", (good: string) => `Bearer ${good.slice(0, -1)}${good.endsWith("A") ? "B" : "A"}`],
      ["the hash in its place", () => `Bearer ${"0".repeat(64)}`],
      ["an id without its secret", (good: string) => `Bearer ${good.split("_").slice(0, 2).join("_")}_`],
      ["a token that nobody signed", () => `Bearer ${unsigned({ sub: "me", scope: "admin" })}`],
    ])("a key with %s is none, and nothing tells how near it was", async (_title, forge) => {
      const good = await server.ask("POST", "/run", { body: command, key });
      expect(good.status).toBe(200);
      const { status, json, headers } = await server.ask("POST", "/run", {
        body: command,
        headers: { authorization: forge(key) },
      });
      expect(status).toBe(401);
      expect(json.error.code).toBe("unauthorized");
      expect(headers["www-authenticate"]).toBe('Bearer realm="agentkernel"');
      expect(JSON.stringify(json)).not.toContain(key.slice(3, 20));
    });

    it("a key is gone when it is revoked or its time is up", async () => {
      const short = await server.key("short", ["--expires", "1ms"]);
      expect((await server.ask("POST", "/run", { body: command, key: short })).status).toBe(401);
      const doomed = await server.key("doomed", []);
      expect((await server.ask("POST", "/run", { body: command, key: doomed })).status).toBe(200);
      await runCli(server.actor, ["keys", "revoke", "doomed"]);
      expect((await server.ask("POST", "/run", { body: command, key: doomed })).status).toBe(401);
    });

    it("a key does what its scope says and nothing else", async () => {
      const reader = await server.key("reader", ["--scope", "read"]);
      expect((await server.ask("GET", "/sandboxes", { key: reader })).status).toBe(200);
      for (const [method, path, body] of [
        ["POST", "/run", command],
        ["POST", "/sandboxes", { name: "x" }],
        ["GET", "/metrics", undefined],
      ] as const) {
        const { status, json } = await server.ask(method, path, { key: reader, body });
        expect([status, json.error.code], path).toEqual([403, "forbidden"]);
      }
    });

    it("a page of another origin is refused, also with a key, and one of ours is not", async () => {
      const from = (headers: Record<string, string>) => server.ask("POST", "/run", { body: command, key, headers });
      expect((await from({ origin: `http://127.0.0.1:${server.port}` })).status).toBe(200);
      for (const origin of [
        "https://evil.example",
        "null",
        `http://127.0.0.1:${server.port + 1}`,
        `https://127.0.0.1:${server.port}`,
      ]) {
        expect((await from({ origin })).status, origin).toBe(403);
      }
      expect((await from({ "sec-fetch-site": "cross-site" })).status).toBe(403);
      expect(
        (await server.ask("OPTIONS", "/run", { headers: { origin: "https://evil.example" } })).headers,
      ).not.toHaveProperty("access-control-allow-origin");
    });

    it("a form of another site cannot be sent either: only JSON is read", async () => {
      const headers = { "content-type": "text/plain" };
      expect((await server.ask("POST", "/run", { body: JSON.stringify(command), key, headers })).status).toBe(415);
    });

    it("a name that leads here (DNS rebinding) is refused, whatever else is right", async () => {
      const as = (host: string) => statusOf(actor, ["-H", `Host: ${host}`, ...bearer(server.localToken), ...words()]);
      for (const host of [`localhost:${server.port}`, "127.0.0.1", `[::1]:${server.port}`]) {
        expect(await as(host), host).toBe(200);
      }
      for (const host of [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "0.0.0.0",
        "127.0.0.1@evil",
        "127.1",
      ]) {
        expect(await as(host), host).toBe(403);
      }
    });
  });

  describe("tokens that somebody else signs", () => {
    const [actor] = actors;
    if (actor === undefined) throw new Error("nobody runs tests");
    const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const issuer = "https://issuer.example";
    const audience = "agentkernel";
    let server: ApiServer;
    beforeAll(async () => {
      const jwks = join(actor.folder("jwks"), "jwks.json");
      writeFileSync(
        jwks,
        JSON.stringify({
          keys: [{ ...pair.publicKey.export({ format: "jwk" }), kid: "one", alg: "RS256", use: "sig" }],
        }),
      );
      server = await ApiServer.start(actor, ["--jwks", jwks, "--jwt-issuer", issuer, "--jwt-audience", audience]);
    });
    afterAll(async () => {
      await server.stop();
    });
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, aud: audience, sub: "somebody", scope: "run read", exp: now + 300 };
    const status = async (token: string) => (await server.ask("POST", "/run", { body: command, key: token })).status;

    it("one that is right is taken, with the scopes that it names", async () => {
      const token = signed(pair.privateKey, claims);
      expect(await status(token)).toBe(200);
      expect((await server.ask("POST", "/sandboxes", { body: { name: "x" }, key: token })).status).toBe(403);
    });

    it("one asks for no more than its ceiling, which is small unless the issuer states another", async () => {
      const asked = async (resources: object, more: object = {}) => {
        const key = signed(pair.privateKey, { ...claims, ...more });
        return (await server.ask("POST", "/run", { body: { ...command, resources }, key })).status;
      };
      expect(await asked({ memory_mb: 2048 })).toBe(403);
      expect(await asked({ memory_mb: 2048 }, { agentkernel_ceiling: { memory_mb: 2048 } })).toBe(200);
      expect(await asked({ memory_mb: 2049 }, { agentkernel_ceiling: { memory_mb: 2048 } })).toBe(403);
      expect(await asked({}, { agentkernel_ceiling: { memory: "all" } })).toBe(401);
    });

    it.each([
      ["expired", { ...claims, exp: now - 3600 }],
      ["not yet valid", { ...claims, nbf: now + 3600 }],
      ["of another issuer", { ...claims, iss: "https://other.example" }],
      ["for another audience", { ...claims, aud: "others" }],
      ["without an end", { ...claims, exp: undefined }],
      ["without a subject", { ...claims, sub: undefined }],
    ])("one that is %s is refused", async (_title, wrong) => {
      expect(await status(signed(pair.privateKey, wrong))).toBe(401);
    });

    it("one without a signature, of another key, or signed with the public key as a secret is refused", async () => {
      expect(await status(unsigned(claims))).toBe(401);
      expect(await status(signed(other.privateKey, claims))).toBe(401);
      const [head, body] = signed(pair.privateKey, claims).split(".");
      expect(await status(`${head}.${body}.`)).toBe(401);
      const { createHmac } = await import("node:crypto");
      const hmacHead = encoded({ alg: "HS256", kid: "one" });
      const secret = pair.publicKey.export({ format: "pem", type: "spki" });
      const mac = createHmac("sha256", secret).update(`${hmacHead}.${body}`).digest("base64url");
      expect(await status(`${hmacHead}.${body}.${mac}`)).toBe(401);
    });
  });

  it.each(["0.0.0.0", "::", "localhost.localdomain"])("%s is not listened on while nobody has a key", async (host) => {
    const [actor] = actors;
    if (actor === undefined) throw new Error("nobody runs tests");
    const env = { XDG_STATE_HOME: actor.folder("state"), XDG_RUNTIME_DIR: actor.folder("runtime") };
    const refused = await runCli(actor, ["serve", "--host", host, "--port", "0"], { env });
    expect(refused).toMatchObject({ status: 125, stderr: expect.stringContaining("there is no key") });
  });
});

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function unsigned(claims: object): string {
  return `${encoded({ alg: "none" })}.${encoded(claims)}.`;
}

function signed(key: KeyObject, claims: object): string {
  const content = `${encoded({ alg: "RS256", kid: "one" })}.${encoded(claims)}`;
  return `${content}.${createSign("sha256").update(content).sign(key, "base64url")}`;
}
