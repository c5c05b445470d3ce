import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { actors, root } from "../../support/actors.js";
import { EVERYWHERE, HOST_ADDRESSES, NetworkWorld, WORLD, whyNoWorld } from "../../support/network-world.js";
import { type Attempt, denied, notReached, tryInside, tryOutside, ways } from "../support/network-attack.js";
import { HostListener } from "../support/network-host-listener.js";

const PUBLIC = "www.example.com";
/** IPv6 addresses with 169.254.169.254 or 10.0.0.1 inside. They lie in the world, as with a translator on the way. */
const CARRIERS = [
  "64:ff9b::a9fe:a9fe",
  "64:ff9b::a00:1",
  "64:ff9b:1::a9fe:a9fe",
  "2002:a9fe:a9fe::1",
  "2001:0:4136:e378:8000:63bf:5601:5601",
];
const LINK_LOCAL = ["169.254.7.7", "100.64.0.9"];
const OTHER_HOST_ADDRESS = "45.60.77.7";
/** 169.254.169.254 in other words. */
const METADATA_FORMS = [
  "2852039166",
  "0xa9fea9fe",
  "0xA9.0xFE.0xA9.0xFE",
  "0251.0376.0251.0376",
  "025177524776",
  "169.254.43518",
  "169.16689662",
  "::ffff:169.254.169.254",
  "::ffff:a9fe:a9fe",
];
const LOOPBACK_FORMS = ["127.0.0.1", "127.1", "127.9.9.9", "0x7f000001", "017700000001", "::1", "::ffff:127.0.0.1"];
/** What the world's DNS says of them. */
const NAMES: Readonly<Record<string, string>> = {
  "metadata.example.net": "169.254.169.254",
  "metadata6.example.net": "fd00:ec2::254",
  "private.example.net": "192.168.1.10",
  "unique-local.example.net": "fd12:3456:789a::1",
  "nat64.example.net": "64:ff9b::a9fe:a9fe",
  "mapped.example.net": "::ffff:a9fe:a9fe",
  "six-to-four.example.net": "2002:a9fe:a9fe::1",
};
const HOST_NAMES: Readonly<Record<string, string>> = {
  "loopback.example.net": "127.0.0.1",
  "loopback6.example.net": "::1",
  "host.example.net": HOST_ADDRESSES[0],
  "host6.example.net": HOST_ADDRESSES[1],
  "other-host.example.net": OTHER_HOST_ADDRESS,
};

describe.skipIf(whyNoWorld() !== null)("N2 what is not of the public internet", () => {
  let world: NetworkWorld;
  beforeAll(async () => {
    world = await NetworkWorld.start([...CARRIERS, ...LINK_LOCAL]);
    await world.listen(EVERYWHERE, 80, { kind: "http" });
    await world.name(PUBLIC, [WORLD.public4]);
    for (const [name, address] of Object.entries({ ...NAMES, ...HOST_NAMES })) await world.name(name, [address]);
    if (root === undefined) throw new Error("a world needs root");
    await world.runOutside(root, ["ip", "address", "add", `${OTHER_HOST_ADDRESS}/32`, "dev", "lo"]);
  });
  afterAll(() => world?.stop());

  const outsideHosts = [
    ...WORLD.metadata,
    ...WORLD.private4,
    ...WORLD.private6,
    ...LINK_LOCAL,
    ...CARRIERS,
    ...METADATA_FORMS,
    ...Object.keys(NAMES),
  ];
  const hostHosts = [...HOST_ADDRESSES, OTHER_HOST_ADDRESS, ...LOOPBACK_FORMS, ...Object.keys(HOST_NAMES)];

  /** In every way in which the destination can be written that way. */
  function attempts(hosts: readonly string[], port: number): readonly Attempt[] {
    const isPlain = (host: string) => /^\d+\.\d+\.\d+\.\d+$/.test(host) || host.includes(":");
    return ways.flatMap((way) =>
      hosts.filter((host) => way !== "socks-address" || isPlain(host)).map((host): Attempt => [way, host, port]),
    );
  }

  describe.each(actors)("as $name", (actor) => {
    let service: HostListener;
    beforeEach(async () => {
      service = await HostListener.start(world, actor);
      await world.takeRecord();
    });
    afterEach(() => service?.stop());

    const controls: readonly Attempt[] = ways.map((way) => [way, way === "socks-address" ? WORLD.public4 : PUBLIC, 80]);
    const allowNames = [...Object.keys(NAMES), ...Object.keys(HOST_NAMES)].flatMap((name) => ["--allow-domain", name]);

    it("is reached without a sandbox, under every name and in every form", async () => {
      const direct = (hosts: readonly string[], port: number) => hosts.map((host): Attempt => ["direct", host, port]);
      const all = [...direct(outsideHosts, 80), ...direct(hostHosts, service.port)];
      const tried = await tryOutside(world, actor, all);
      expect(tried.filter((one) => !one.reached)).toEqual([]);
      expect(tried).toHaveLength(all.length);
      expect((await world.record()).connections.length).toBe(outsideHosts.length);
      expect(service.connections()).toHaveLength(hostHosts.length);
    });

    it.each([
      ["on", ["--network", "on"], controls],
      ["an allowlist without it", ["--allow-domain", PUBLIC], controls.slice(0, 4)],
      ["an allowlist with its name", ["--allow-domain", PUBLIC, ...allowNames], controls.slice(0, 4)],
    ] as const)("is not reached inside (%s)", async (mode, options, works) => {
      const wanted = [...attempts(outsideHosts, 80), ...attempts(hostHosts, service.port)];
      const { ran, tried, decisions } = await tryInside(world, actor, options, [...works, ...wanted]);
      // The ways themselves work.
      expect(tried.slice(0, works.length).filter((one) => !one.reached)).toEqual([]);
      expect(notReached(tried.slice(works.length))).toEqual([]);
      const { connections, queries } = await world.takeRecord();
      expect(connections.map(({ address }) => address)).toEqual(works.map(() => WORLD.public4));
      expect(service.connections()).toEqual([]);
      if (mode === "an allowlist without it")
        expect(new Set(queries.map(({ name }) => name))).toEqual(new Set([PUBLIC]));
      // Every form of an address is on record as that address, and every name as itself.
      const said = new Set(denied(decisions));
      const canonical = [...WORLD.metadata, ...WORLD.private4, ...LINK_LOCAL, ...CARRIERS.slice(0, 4)];
      for (const address of canonical) expect(said).toContain(`${address}:80`);
      for (const own of [...HOST_ADDRESSES, "127.0.0.1", "::1"]) expect(said).toContain(`${own}:${service.port}`);
      for (const name of Object.keys(NAMES)) expect(said).toContain(`${name}:80`);
      // Nor is it told where a name of the host's network leads.
      const byName = tried.filter(({ host }) => host in NAMES || host in HOST_NAMES);
      const told = byName.filter(({ host, answer }) => answer.includes(NAMES[host] ?? HOST_NAMES[host] ?? "-"));
      expect(told).toEqual([]);
      expect(ran.stderr).toMatch(/blocked: /);
    });
  });
});
