import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { NetworkWorld, WORLD, whyNoWorld } from "../support/network-world.js";

const NAME = "www.example.com";
const HALF = "half.example.com";
const LONG = "long.example.com";

describe.skipIf(whyNoWorld() !== null)("in a world of the test's own", () => {
  let world: NetworkWorld;

  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.serve(NAME, [WORLD.public4, WORLD.public6], 80, { kind: "http" });
    await world.serve(NAME, [WORLD.public4, WORLD.public6], 443, { kind: "http", tls: world.tls(NAME) });
    await world.name(HALF, [WORLD.public6, WORLD.public4]);
    await world.listen(WORLD.public4, 8080, { kind: "http" });
    await world.name(
      LONG,
      Array.from({ length: 40 }, () => WORLD.public4),
    );
  });
  afterAll(() => world?.stop());

  describe.each(actors)("as $name", (actor) => {
    it("a program outside a sandbox resolves and reaches what the world has, and nothing else", async () => {
      const ok = await world.runOutside(actor, [
        "curl",
        "-sS",
        "--cacert",
        world.authority.certPath,
        `https://${NAME}/x`,
      ]);
      expect([ok.stderr, ok.status]).toEqual(["", 0]);
      expect(JSON.parse(ok.stdout)).toMatchObject({ host: NAME, path: "/x", serverName: NAME });
      const unknown = await world.runOutside(actor, ["curl", "-sS", "http://other.example.com/"]);
      expect(unknown.stderr).toContain("Could not resolve host");
      expect((await world.takeRecord()).queries.map(({ name }) => name)).toContain("other.example.com");
    });

    it("a name of several addresses is reached at the one that answers", async () => {
      const ok = await world.runCli(actor, ["run", "--allow-domain", HALF, "curl", "-sS", `http://${HALF}:8080/x`]);
      expect(ok.status, ok.stderr).toBe(0);
      expect(JSON.parse(ok.stdout)).toMatchObject({ address: WORLD.public4, path: "/x" });
      await world.takeRecord();
    });

    it("a name whose answer is too long for one datagram is known", async () => {
      const ok = await world.runCli(actor, ["run", "--allow-domain", LONG, "curl", "-sS", `http://${LONG}/x`]);
      expect(ok.status, ok.stderr).toBe(0);
      const { queries } = await world.takeRecord();
      expect(queries).toContainEqual({ name: LONG, type: "A", transport: "tcp" });
    });

    it("a program in a sandbox does too", async () => {
      const ok = await world.runCli(actor, ["run", "curl", "-sS", `http://${NAME}/x`]);
      expect(ok.status, ok.stderr).toBe(0);
      const { requests } = await world.takeRecord();
      expect(requests).toMatchObject([{ host: NAME, path: "/x" }]);
    });

    it("a connection more than max_connections is refused, said and recorded; one that has ended makes room", async () => {
      const script = `
import socket
def reached():
    try:
        one = socket.create_connection(("${NAME}", 80), 10)
        one.sendall(b"GET / HTTP/1.1\\r\\nHost: ${NAME}\\r\\n\\r\\n")
        return one if one.recv(1) else None
    except OSError: return None
kept = [reached(), reached()]
print([one is not None for one in kept], reached() is not None)
kept.pop().close()
while (again := reached()) is None: pass
print("again")`;
      const env = { XDG_STATE_HOME: actor.folder() };
      const words = [
        "run",
        "--json",
        "--allow-domain",
        NAME,
        "--max-connections",
        "2",
        "/usr/bin/python3",
        "-c",
        script,
      ];
      const ran = await world.runCli(actor, words, { env });
      const { data } = JSON.parse(ran.stdout);
      expect(data.stdout, ran.stderr).toBe("[True, True] False\nagain\n");
      const rule = "max_connections: 2 connections are open already";
      expect(data.network.blocked).toMatchObject([{ host: NAME, port: 80, rule }]);
      const records = await world.runCli(actor, ["audit", "list", "--json"], { env });
      expect(records.stdout).toContain(rule);
      await world.takeRecord();
    });

    it("a proxy of the user's that cannot be used stops a run before its command begins", async () => {
      const ran = await world.runCli(actor, ["run", "echo", "began"], { env: { HTTPS_PROXY: "ftp://proxy.example" } });
      expect([ran.status, ran.stdout]).toEqual([125, ""]);
      expect(ran.stderr).toContain("HTTPS_PROXY does not name a proxy that can be used");
      const off = await world.runCli(actor, ["run", "--no-network", "true"], { env: { HTTPS_PROXY: "ftp://x" } });
      expect(off.status).toBe(0);
    });
  });
});
