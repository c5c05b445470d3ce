import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { NetworkWorld, WORLD, whyNoWorld } from "../support/network-world.js";

const NAME = "www.example.com";

describe.skipIf(whyNoWorld() !== null)("in a world of the test's own", () => {
  let world: NetworkWorld;

  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.serve(NAME, [WORLD.public4, WORLD.public6], 80, { kind: "http" });
    await world.serve(NAME, [WORLD.public4, WORLD.public6], 443, { kind: "http", tls: world.tls(NAME) });
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

    it("a program in a sandbox does too", async () => {
      const ok = await world.runCli(actor, ["run", "curl", "-sS", `http://${NAME}/x`]);
      expect(ok.status, ok.stderr).toBe(0);
      const { requests } = await world.takeRecord();
      expect(requests).toMatchObject([{ host: NAME, path: "/x" }]);
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
