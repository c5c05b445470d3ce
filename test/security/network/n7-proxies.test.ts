import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { NetworkWorld, WORLD, whyNoWorld } from "../../support/network-world.js";
import { makeProject } from "../../support/project.js";
import { runInside } from "../support/network-attack.js";

/** A proxy that is allowed, and leads anywhere in its world. */
const PROXY = "proxy.example.com";
const ALLOWED = "www.example.com";
const HIDDEN = "hidden.example.net";
const [PRIVATE] = WORLD.private4;
const METADATA = "169.254.169.254";

/** Goes through the proxy of its first argument to each host of the others, in every way; prints what answered. */
const THROUGH = `
import socket, struct, sys
def talk(s, text):
    s.sendall(text)
    answer = b""
    while True:
        try: part = s.recv(65536)
        except socket.timeout: return answer
        if not part: return answer
        answer += part
def get(host, target="/", more=b""): return b"GET " + target.encode() + b" HTTP/1.1\\r\\nHost: " + host.encode() + b"\\r\\n" + more + b"\\r\\n"
CLOSE, SWITCH = b"Connection: close\\r\\n", b"Connection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n"
def tunnel(s, host, more=b""):
    s.sendall(b"CONNECT " + host.encode() + b":80 HTTP/1.1\\r\\n" + more + b"\\r\\n")
    s.recv(999)
    return talk(s, get(host, more=CLOSE))
def socks5(s, host):
    s.sendall(b"\\5\\1\\0")
    s.recv(2)
    s.sendall(b"\\5\\1\\0\\3" + bytes([len(host)]) + host.encode() + b"\\0\\x50")
    s.recv(10)
    return talk(s, get(host, more=CLOSE))
ways = {
    "connect": lambda s, host: tunnel(s, host, b"Host: " + host.encode() + b"\\r\\n"),
    "connect-as-proxy": lambda s, host: tunnel(s, host, b"Host: ${PROXY}\\r\\n"),
    "connect-no-host": lambda s, host: tunnel(s, host),
    "absolute": lambda s, host: talk(s, get(host, "http://" + host + "/", CLOSE)),
    "absolute-as-proxy": lambda s, host: talk(s, get("${PROXY}", "http://" + host + "/", CLOSE)),
    "absolute-no-host": lambda s, host: talk(s, b"GET http://" + host.encode() + b"/ HTTP/1.0\\r\\n\\r\\n"),
    "websocket": lambda s, host: talk(s, get(host, "http://" + host + "/", SWITCH)),
    "socks5": socks5,
}
for host in sys.argv[2:]:
    for way, work in ways.items():
        try:
            with socket.create_connection((sys.argv[1], 3129), 8) as s:
                s.settimeout(1)
                answer = work(s, host)
        except OSError: answer = b""
        print(way, host, "reached" if b"HTTP/1.1 200 OK" in answer else "refused", flush=True)
`;

describe.skipIf(whyNoWorld() !== null)("N7 a proxy that is allowed leads further out", () => {
  let world: NetworkWorld;
  beforeAll(async () => {
    // The proxy's own resolver is the machine's; so it is told addresses, which stand for what they serve.
    world = await NetworkWorld.start();
    await world.name(PROXY, [WORLD.otherPublic4]);
    await world.name(ALLOWED, [WORLD.public4]);
    await world.name(HIDDEN, [WORLD.public4]);
    await world.listen(WORLD.otherPublic4, 3129, { kind: "open-proxy" });
    for (const address of [PRIVATE, METADATA, WORLD.public4]) await world.listen(address, 80, { kind: "http" });
  });
  afterAll(() => world?.stop());

  const through = (...hosts: readonly string[]) => ["/usr/bin/python3", "-c", THROUGH, PROXY, ...hosts];
  const reached = (stdout: string) => stdout.split("\n").filter((line) => line.endsWith(" reached"));

  describe.each(actors)("as $name", (actor) => {
    beforeEach(() => world.takeRecord());
    const behind = async () =>
      (await world.takeRecord()).connections.map(({ address }) => address).filter((one) => one !== WORLD.otherPublic4);

    it("without a sandbox, in every way", async () => {
      const ran = await world.runOutside(actor, through(PRIVATE, METADATA, WORLD.public4));
      expect(reached(ran.stdout), ran.stdout).toHaveLength(3 * 8);
      expect(await behind()).toEqual(expect.arrayContaining([PRIVATE, METADATA, WORLD.public4]));
    });

    it("inside, to nothing that is not allowed itself", async () => {
      const options = ["--allow-domain", PROXY, "--allow-domain", ALLOWED];
      const hosts = [PRIVATE, METADATA, WORLD.public4, HIDDEN];
      const { ran, decisions } = await runInside(world, actor, options, through(...hosts));
      expect(ran.stdout.trim().split("\n")).toHaveLength(hosts.length * 8);
      expect(reached(ran.stdout)).toEqual([]);
      expect(await behind()).toEqual([]);
      const ended = decisions.filter((one) => one.phase === "ended");
      expect(ended).toHaveLength(hosts.length * 8);
      expect(new Set(ended.map(({ verdict }) => verdict))).toEqual(new Set(["denied"]));
    });

    it("inside, with a network that denies a name or a range, not to those by a request that names them", async () => {
      const text = `version: 1\nnet: { egress: true, deny: [ { domain: ${HIDDEN} } ] }\n`;
      const { path } = makeProject(actor, { "p.yaml": text });
      const { ran } = await runInside(world, actor, ["--policy", `${path}/p.yaml`], through(PRIVATE, METADATA, HIDDEN));
      // What a SOCKS proxy is told is not read where only names are denied.
      expect(reached(ran.stdout).filter((line) => !line.startsWith("socks5 "))).toEqual([]);
    });

    it("inside, a change to WebSocket through the sandbox's own proxy goes to allowed hosts only", async () => {
      const script = `
import socket
for host in ("${ALLOWED}", "${HIDDEN}", "${PRIVATE}"):
    with socket.create_connection(("127.0.0.1", 3128), 8) as s:
        s.sendall(("GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n" % (host, host)).encode())
        print(host, s.recv(999).split(b"\\r\\n")[0].decode())
`;
      const argv = ["/usr/bin/python3", "-c", script];
      const { ran } = await runInside(world, actor, ["--allow-domain", ALLOWED], argv);
      expect(ran.stdout.trim().split("\n")).toEqual([
        expect.stringMatching(`^${ALLOWED} HTTP/1.1 200 `),
        `${HIDDEN} HTTP/1.1 403 Forbidden`,
        `${PRIVATE} HTTP/1.1 403 Forbidden`,
      ]);
      expect((await world.takeRecord()).requests).toMatchObject([{ host: ALLOWED }]);
    });
  });
});
