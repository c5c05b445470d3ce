/** Bytes one at a time on several connections, through one daemon: what it costs to look at them holds up nobody else. */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { clientOf, onlyThroughDaemon } from "../../support/daemon.js";
import { NetworkWorld, WORLD, whyNoWorld } from "../../support/network-world.js";
import { holdCli } from "../support/process-answers.js";

const NAME = "www.example.com";
const OTHER = "other.example.com";
/** Enough of each that a look at all of them for every one would take seconds. */
const BYTES = 40_000;

/** What a request, a greeting of TLS or anything else may begin with. */
const classes: readonly (readonly [string, string])[] = [
  ["line feeds", "\n"],
  ["carriage returns and line feeds", "\r\n"],
  ["letters", "a"],
  ["the beginnings of TLS records", "\x16\x03\x01"],
];

const drip = (text: string) => `
import select, socket, sys
text = bytes.fromhex("${Buffer.from(text, "latin1").toString("hex")}")
def connect():
    s = socket.create_connection(("${NAME}", 80), 10)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s
connections = [connect() for _ in range(8)]
sent, told = [0] * 8, False
while not select.select([sys.stdin], [], [], 0)[0]:
    for n, connection in enumerate(connections):
        try:
            connection.send(text[sent[n] % len(text):][:1], socket.MSG_DONTWAIT)
        except BlockingIOError:
            continue
        except OSError:
            connection.close()
            connections[n] = connect()
        sent[n] += 1
    if not told and sum(sent) >= ${BYTES}:
        told = True
        print("dripping", flush=True)
`;

describe.skipIf(whyNoWorld() !== null)("N8 bytes that are dripped", () => {
  let world: NetworkWorld;
  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.name(NAME, [WORLD.public4]);
    await world.listen(WORLD.public4, 80, { kind: "silent" });
    await world.serve(OTHER, [WORLD.otherPublic4], 80, { kind: "http" });
  });
  afterAll(() => world?.stop());

  it.each(actors)("hold up no other sandbox of the daemon, whatever they are, as $name", async (actor) => {
    const caller = onlyThroughDaemon(clientOf(actor));
    const env = { ...caller.variables };
    const daemon = world.startCli(caller, ["daemon", "run"], { env });
    await once(daemon.stdout ?? daemon, "data");
    const words = ["run", "--workspace", "none", "--workdir", "/"];
    const [program = "", ...first] = caller.program ?? [];
    const neighbour = async () => {
      const begin = performance.now();
      const curl = ["--allow-domain", OTHER, "curl", "-sS", "-o", "/dev/null", `http://${OTHER}/`];
      const ran = await world.runOutside(caller, [program, ...first, ...words, ...curl], { env });
      expect(ran.status, ran.stderr).toBe(0);
      return performance.now() - begin;
    };
    try {
      await neighbour();
      const quietMs = await neighbour();
      for (const [what, text] of classes) {
        const attack = [...first, ...words, "--allow-domain", NAME, "/usr/bin/python3", "-c", drip(text)];
        const dripping = holdCli(world.spawn(caller, [program, ...attack], { env }));
        await dripping.saw(/^dripping$/m);
        expect(await neighbour(), what).toBeLessThan(quietMs * 4 + 2000);
        expect((await dripping.release()).status, what).toBe(0);
        await world.takeRecord();
      }
    } finally {
      daemon.kill("SIGTERM");
      await once(daemon, "close");
    }
  });
});
