import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { NetworkWorld, WORLD, whyNoWorld } from "../../support/network-world.js";
import { makeProject } from "../../support/project.js";
import { type Attempt, denied, notReached, runInside, tryInside, tryOutside } from "../support/network-attack.js";

const ALLOWED = "example.com";
const ALLOW = ["--allow-domain", ALLOWED];

/** Other names, all of which the world has. */
const LOOKALIKES = [
  "evil-example.com",
  "example.com.evil.net",
  "www.example.com",
  "example.co",
  "example.comm",
  "xample.com",
  "examplecom.net",
  "xn--xample-9uf.com",
  "xn--exmple-4nf.com",
  "_example.com",
];
/** The same name in other words: one canonical form, so these are allowed. */
const SAME = ["EXAMPLE.com", "example.com.", "ExAmPlE.CoM."];
/** No name at all, or one that two parsers read differently. */
const MALFORMED = [
  "example.com..",
  ".example.com",
  "example..com",
  "example.com\0.evil.net",
  "evil.net\0.example.com",
  "example.com\t.evil.net",
  "example.com\x7f",
  "example%2ecom",
  "evil.net%00.example.com",
  "example.com%2eevil.net",
  "user@example.com",
  "example.com@evil.net",
  "evil.net#example.com",
  "evil.net/example.com",
  "evil.net\\example.com",
  "evil.net?example.com",
  "[example.com]",
  "*.example.com",
  "*",
  "**",
  "",
  ".",
  "example.com evil.net",
  "example.com,evil.net",
  `${"a".repeat(64)}.example.com`,
  `${"a.".repeat(130)}example.com`,
];
/** Cyrillic letters for Latin ones. */
const HOMOGRAPHS = ["ex\u0430mple.com", "\u0435xample.com"];

/** Sends each text of its first argument as it is in a CONNECT, in an absolute address and as a Host to example.com. */
const SAY = `
import json, socket, sys
def ask(where, text):
    with socket.create_connection(where, 8) as s:
        s.sendall(text.encode("latin1"))
        answer = b""
        while True:
            part = s.recv(65536)
            if not part: return answer
            answer += part
            if b"200 Connection Established" in answer: return answer
proxy = ("127.0.0.1", 3128)
ways = {
  "connect": lambda name: ask(proxy, "CONNECT %s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" % name),
  "absolute": lambda name: ask(proxy, "GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n" % (name, name)),
  "host": lambda name: ask(("${ALLOWED}", 80), "GET / HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n" % name),
}
for way, name in json.loads(sys.argv[1]):
    try: answer = ways[way](name).decode("latin1").split("\\r\\n")[0]
    except OSError as e: answer = "error: %s" % e
    print(json.dumps([way, name, answer]))
`;

const latin1 = (text: string) => Buffer.from(text).toString("latin1");

describe.skipIf(whyNoWorld() !== null)("N5 a name that looks like an allowed one", () => {
  let world: NetworkWorld;
  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.listen(WORLD.public4, 80, { kind: "http" });
    for (const name of [ALLOWED, ...LOOKALIKES, "evil.net", "denied.example.org", "a.example.org"])
      await world.name(name, [WORLD.public4]);
  });
  afterAll(() => world?.stop());

  describe.each(actors)("as $name", (actor) => {
    beforeEach(() => world.takeRecord());
    const record = async () => {
      const { queries, requests, connections } = await world.takeRecord();
      const names = [...new Set(queries.map(({ name }) => name))];
      return { names, hosts: [...new Set(requests.map(({ host }) => host.toLowerCase()))], connections };
    };
    const every = (names: readonly string[]) =>
      names.flatMap((name): Attempt[] => [
        ["direct", name, 80],
        ["connect", name, 80],
        ["absolute", name, 80],
        ["socks-name", name, 80],
      ]);

    it("is reached without a sandbox", async () => {
      const tried = await tryOutside(
        world,
        actor,
        [...LOOKALIKES, ...SAME].map((name): Attempt => ["direct", name, 80]),
      );
      expect(tried.filter((one) => !one.reached)).toEqual([]);
      expect((await record()).names).toEqual(expect.arrayContaining(LOOKALIKES));
    });

    it("is neither asked for nor reached, and the allowed one is, however it is written", async () => {
      const inside = await tryInside(world, actor, ALLOW, [...every(SAME), ...every(LOOKALIKES)]);
      const same = inside.tried.slice(0, every(SAME).length);
      expect(same.filter((one) => !one.reached)).toEqual([]);
      expect(notReached(inside.tried.slice(same.length))).toEqual([]);
      const { names, connections } = await record();
      expect(names).toEqual([ALLOWED]);
      expect(connections).toHaveLength(same.length);
      for (const name of LOOKALIKES) expect(denied(inside.decisions)).toContain(`${name}:80`);
    });

    it("is refused where it is no name, in a CONNECT, an address and a Host", async () => {
      const names = [...MALFORMED, ...HOMOGRAPHS.map(latin1), ...LOOKALIKES];
      const ports = [
        "example.com:0443",
        "example.com:+80",
        "example.com:8 0",
        "example.com:0x50",
        "example.com:",
        ":80",
      ];
      const more = ["example.com:65616", "example.com:-1", "example.com:80:80", "example.com:８０".normalize("NFC")];
      const attempts = [
        ...names.map((name) => ["connect", `${name}:80`]),
        ...[...ports, ...more].map((name) => ["connect", latin1(name)]),
        ...[...names, ...ports.slice(0, 4)].map((name) => ["absolute", name]),
        ...names.map((name) => ["host", name]),
      ];
      const controls = [
        ["connect", "example.com:80"],
        ["absolute", "example.com"],
        ["host", "example.com"],
      ];
      const argv = ["/usr/bin/python3", "-c", SAY, JSON.stringify([...controls, ...attempts])];
      const { ran } = await runInside(world, actor, ALLOW, argv);
      const answers = ran.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as string[]);
      expect(answers).toHaveLength(controls.length + attempts.length);
      const good = answers.filter(([, , answer = ""]) => / 200 /.test(answer)).map(([way, name]) => [way, name]);
      expect(good).toEqual(controls);
      const seen = await record();
      expect(seen.names).toEqual([ALLOWED]);
      expect(seen.hosts).toEqual([ALLOWED]);
    });

    it("with an empty list, everything is denied", async () => {
      const { path } = makeProject(actor, { "p.yaml": "version: 1\nnet: { egress: allowlist, allow: [] }\n" });
      const { tried } = await tryInside(world, actor, ["--policy", `${path}/p.yaml`], every([ALLOWED, "evil.net"]));
      expect(notReached(tried)).toEqual([]);
      expect(await record()).toEqual({ names: [], hosts: [], connections: [] });
    });

    it("with deny beside allow, deny wins, and a wildcard is no wider than its labels", async () => {
      const rules = [
        "allow: [ { domain: '*.example.org' }, { domain: example.com, ports: [ 81 ] } ]",
        "deny: [ { domain: denied.example.org } ]",
      ];
      const { path } = makeProject(actor, {
        "p.yaml": `version: 1\nnet: { egress: allowlist, ${rules.join(", ")} }\n`,
      });
      await world.name("example.org", [WORLD.public4]);
      const wanted = every(["denied.example.org", "DENIED.example.org.", "example.org", ALLOWED]);
      const works = every(["a.example.org"]);
      const { tried } = await tryInside(world, actor, ["--policy", `${path}/p.yaml`], [...works, ...wanted]);
      expect(notReached(tried)).toEqual(works.map(([way, host]) => `${way} ${host}`));
    });

    it.each([
      "*",
      "**",
      "",
      "*.*",
      "*.com",
      "a*.example.com",
      "example.*",
      "com",
      "example.com:443",
      "https://example.com",
    ])("a policy that allows %j is refused", async (domain) => {
      const text = JSON.stringify({ version: 1, net: { egress: "allowlist", allow: [{ domain }] } });
      const { path } = makeProject(actor, { "p.json": text });
      const ran = await world.runCli(actor, ["run", "--policy", `${path}/p.json`, "true"]);
      expect([ran.status, ran.stdout]).toEqual([125, ""]);
      expect(ran.stderr).toContain("is not a domain");
      const flag = await world.runCli(actor, ["run", "--allow-domain", domain, "true"]);
      expect([flag.status, flag.stdout]).toEqual([125, ""]);
    });
  });
});
