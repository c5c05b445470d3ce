import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { NetworkWorld, WORLD, whyNoWorld } from "../../support/network-world.js";
import { makeProject } from "../../support/project.js";
import { type Attempt, runInside, tryInside, usualWay } from "../support/network-attack.js";
import { frontingRequests, HELLOS, SPEAK } from "../support/network-fronting.js";

/** One server for both, as a provider has; only the first is allowed. */
const FRONT = "front.example.com";
const HIDDEN = "hidden.example.net";
const ALLOW = ["--allow-domain", FRONT];
const requests = frontingRequests(FRONT, HIDDEN);
const hellos = ["/usr/bin/python3", "-c", HELLOS, FRONT, HIDDEN];
const speak = ["/usr/bin/python3", "-c", SPEAK, FRONT, JSON.stringify(requests)];

describe.skipIf(whyNoWorld() !== null)("N6 a connection allowed for one name and used for another", () => {
  let world: NetworkWorld;
  beforeAll(async () => {
    world = await NetworkWorld.start();
    const tls = world.tls(FRONT, HIDDEN);
    for (const name of [FRONT, HIDDEN]) await world.name(name, [WORLD.public4]);
    await world.listen(WORLD.public4, 443, { kind: "http", tls });
    await world.listen(WORLD.public4, 80, { kind: "http" });
  });
  afterAll(() => world?.stop());

  describe.each(actors)("as $name", (actor) => {
    beforeEach(() => world.takeRecord());
    const lines = (stdout: string) =>
      Object.fromEntries(
        stdout
          .trim()
          .split("\n")
          .map((line) => line.split(" ")),
      );

    it("works without a sandbox for every hello but what no server reads", async () => {
      const answers = lines((await world.runOutside(actor, hellos)).stdout);
      const { "name-with-a-nul": _, "two-names": __, ...good } = answers;
      expect(new Set(Object.values(good))).toEqual(new Set(["hello"]));
      expect(Object.keys(good)).toHaveLength(8);
    });

    it("is refused by an alert for every hello that does not say the allowed name and nothing else", async () => {
      const { ran, decisions } = await runInside(world, actor, ALLOW, hellos);
      const answers = lines(ran.stdout);
      const good = Object.keys(answers).filter((what) => answers[what] === "hello");
      expect(good).toEqual(["same-name", "upper-case"]);
      expect(new Set(Object.values(answers))).toEqual(new Set(["hello", "alert"]));
      const ended = decisions.filter((one) => one.phase === "ended" && one.verdict === "denied");
      expect(ended).toHaveLength(Object.keys(answers).length - good.length);
      // Not one byte of those went out.
      expect(ended.map(({ bytesOut }) => bytesOut).filter((bytes) => bytes > 0)).toEqual([]);
      expect(ended.map(({ rule }) => rule)).toContain(`SNI says ${HIDDEN}, allowed was ${FRONT}`);
    });

    it("works without a sandbox over plain HTTP, in a dozen ways", async () => {
      const ran = await world.runOutside(actor, speak);
      expect(ran.status, ran.stderr).toBe(0);
      const { requests: seen } = await world.takeRecord();
      const hidden = seen.filter(({ host, path }) => `${host}${path}`.includes(HIDDEN));
      expect(hidden.length).toBeGreaterThanOrEqual(10);
    });

    it("does not get a request with another Host to the server, whatever it is hidden behind", async () => {
      const { ran, decisions } = await runInside(world, actor, ALLOW, speak);
      expect(ran.stdout.trim().split("\n")).toHaveLength(Object.keys(requests).length);
      const { requests: seen } = await world.takeRecord();
      expect(seen.filter(({ host, path }) => host !== FRONT || path.includes(HIDDEN))).toEqual([]);
      expect(seen.length).toBeGreaterThanOrEqual(3);
      const answers = new Map(
        ran.stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as [string, string[]]),
      );
      expect(answers.get("two as allowed")).toEqual(["200", "200"]);
      expect(answers.get("another Host")).toEqual(["403"]);
      expect(decisions.filter((one) => one.verdict === "denied").map(({ rule }) => rule)).toContain(
        `Host says ${HIDDEN}, allowed was ${FRONT}`,
      );
    });

    it("is refused through the sandbox's proxy as well", async () => {
      const ways = [usualWay, "connect", "socks-name"] as const;
      const attempts = ways.map((way): Attempt => [way, FRONT, 80, HIDDEN]);
      const { tried } = await tryInside(world, actor, ALLOW, [...attempts, ["absolute", FRONT, 80, HIDDEN]]);
      expect(tried.map(({ answer }) => answer.slice(0, 12))).toEqual([
        "HTTP/1.1 403",
        "HTTP/1.1 403",
        "HTTP/1.1 403",
        "HTTP/1.1 400",
      ]);
      expect((await world.takeRecord()).requests).toEqual([]);
    });

    it("with a network that only denies the hidden name, a request for it is refused, also without a Host", async () => {
      const text = `version: 1\nnet: { egress: true, deny: [ { domain: ${HIDDEN} } ] }\n`;
      const { path } = makeProject(actor, { "p.yaml": text });
      await runInside(world, actor, ["--policy", `${path}/p.yaml`], speak);
      const { requests: seen } = await world.takeRecord();
      expect(seen.filter(({ host, path: asked }) => `${host}${asked}`.includes(HIDDEN))).toEqual([]);
      const tls = await runInside(world, actor, ["--policy", `${path}/p.yaml`], hellos);
      expect(lines(tls.ran.stdout)).toMatchObject({ "same-name": "hello", "other-name": "alert" });
    });
  });
});
