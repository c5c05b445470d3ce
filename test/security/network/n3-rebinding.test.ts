import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { NetworkWorld, WORLD, whyNoWorld } from "../../support/network-world.js";
import { type Attempt, denied, runInside, tryInside, tryOutside, usualWay } from "../support/network-attack.js";

const [PRIVATE] = WORLD.private4;
const [PRIVATE6] = WORLD.private6;
const FLOOD = "flood.example.com";

/**
 * Connects to a name, has the gateway forget what it knows of the name by asking for many others, and connects again:
 * to the name, and to the address that it had.
 */
const TWICE = `
import socket, sys
def get(where):
    try:
        with socket.create_connection((where, 80), 8) as s:
            s.sendall(b"GET / HTTP/1.0\\r\\nHost: " + sys.argv[1].encode() + b"\\r\\n\\r\\n")
            return "reached" if s.recv(999).startswith(b"HTTP/1.1 200") else "refused"
    except OSError as e: return "refused"
kept = socket.gethostbyname(sys.argv[1])
print(get(sys.argv[1]))
for i in range(int(sys.argv[2])):
    try: socket.gethostbyname("n%d.${FLOOD}" % i)
    except OSError: pass
print(get(sys.argv[1]), get(kept))
`;

/** More than the gateway remembers. */
const FORGET = "520";

describe.skipIf(whyNoWorld() !== null)("N3 a name whose addresses are not what they were", () => {
  let world: NetworkWorld;
  beforeAll(async () => {
    world = await NetworkWorld.start();
    for (const address of [WORLD.public4, WORLD.public6, PRIVATE, PRIVATE6])
      await world.listen(address, 80, { kind: "http" });
  });
  afterAll(() => world?.stop());

  describe.each(actors)("as $name", (actor) => {
    const direct = (name: string): Attempt => ["direct", name, 80];
    const usual = (name: string): Attempt => [usualWay, name, 80];
    const get = async (name: string) => (await tryOutside(world, actor, [direct(name)]))[0]?.answer;
    const addresses = async () => (await world.takeRecord()).connections.map(({ address }) => address);
    beforeEach(() => world.takeRecord());

    it.each([
      ["on", (_name: string) => ["--network", "on"]],
      ["allowlist", (name: string) => ["--allow-domain", name, "--allow-domain", `*.${FLOOD}`]],
    ] as const)("that turns private after its first answer is not dialled again (%s)", async (mode, options) => {
      const name = `turns-${mode}-${actor.name}.example.com`;
      // gethostbyname and the connection each ask outside; inside the first answer serves both.
      await world.name(name, [[WORLD.public4], [WORLD.public4], [PRIVATE]]);
      const outside = await world.runOutside(actor, ["/usr/bin/python3", "-c", TWICE, name, "1"]);
      expect(outside.stdout).toBe("reached\nreached reached\n");
      expect(await addresses()).toEqual([WORLD.public4, PRIVATE, WORLD.public4]);

      await world.name(`in-${name}`, [[WORLD.public4], [PRIVATE]]);
      const argv = ["/usr/bin/python3", "-c", TWICE, `in-${name}`, FORGET];
      const { ran, decisions } = await runInside(world, actor, options(`in-${name}`), argv);
      expect(ran.stdout, ran.stderr).toBe("reached\nrefused refused\n");
      const { connections, queries } = await world.takeRecord();
      // It was asked again, and the second answer was the private one.
      expect(queries.filter((one) => one.name === `in-${name}` && one.type === "A")).toHaveLength(2);
      expect(connections.map(({ address }) => address)).toEqual([WORLD.public4]);
      const denied = decisions.filter((one) => one.verdict === "denied" && one.asked === `in-${name}`);
      // A program may look a name up for each family.
      expect(denied.length).toBeGreaterThanOrEqual(2);
      for (const one of denied) expect(one.rule).toMatch(/not a public address/);
      expect(denied.at(-1)).toMatchObject({ port: 80, addresses: [PRIVATE], dialled: null });
    });

    const mixed = [
      ["a private address first", [PRIVATE, WORLD.public4]],
      ["a private address last", [WORLD.public4, PRIVATE]],
      ["a private AAAA beside a public A", [PRIVATE6, WORLD.public4]],
      ["a private A beside a public AAAA", [PRIVATE, WORLD.public6]],
    ] as const;
    it.each(mixed)("with %s is dialled at its public address only", async (title, answers) => {
      const name = `${title.replaceAll(" ", "-").toLowerCase()}.example.com`;
      const open = answers.find((one) => one === WORLD.public4 || one === WORLD.public6) ?? "";
      const closed = answers.find((one) => one !== open) ?? "";
      await world.name(name, [closed]);
      expect(await get(name)).toContain(`"address":"${closed}"`);
      await world.takeRecord();
      await world.name(name, [...answers]);
      const { tried } = await tryInside(world, actor, ["--network", "on"], [usual(name), ["connect", name, 80]]);
      expect(tried.map((one) => one.answer)).toEqual([
        expect.stringContaining(`"address":"${open}"`),
        expect.stringContaining(`"address":"${open}"`),
      ]);
      expect(await addresses()).toEqual([open, open]);
    });

    it("whose public address does not answer is not dialled at its private one instead", async () => {
      await world.name("falls-back.example.com", [WORLD.otherPublic4, PRIVATE]);
      expect(await get("falls-back.example.com")).toContain(`"address":"${PRIVATE}"`);
      await world.takeRecord();
      const { tried, decisions } = await tryInside(
        world,
        actor,
        ["--network", "on"],
        [usual("falls-back.example.com")],
      );
      expect(tried).toMatchObject([{ reached: false }]);
      expect(await addresses()).toEqual([]);
      expect(decisions).toMatchObject([{ addresses: [WORLD.otherPublic4, PRIVATE], dialled: null }]);
    });

    it.each([
      ["on", ["--network", "on"]],
      ["allowlist", ["--allow-domain", "alias.example.com"]],
    ])("that is another name's alias is judged by the addresses behind it (%s)", async (_mode, options) => {
      await world.name("inner.example.net", [PRIVATE]);
      await world.name("middle.example.net", ["cname:inner.example.net"]);
      await world.name("alias.example.com", ["cname:middle.example.net"]);
      expect(await get("alias.example.com")).toContain(`"address":"${PRIVATE}"`);
      await world.takeRecord();
      const all: Attempt[] = [usual("alias.example.com"), ["connect", "alias.example.com", 80]];
      const { tried, decisions } = await tryInside(world, actor, options, all);
      expect(tried.filter((one) => one.reached)).toEqual([]);
      expect(await addresses()).toEqual([]);
      expect(denied(decisions)).toEqual(["alias.example.com:0", "alias.example.com:80"]);
    });
  });
});
