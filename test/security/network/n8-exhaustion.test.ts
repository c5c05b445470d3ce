import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { NetworkWorld, WORLD, whyNoWorld } from "../../support/network-world.js";
import { type HeldRun, holdCli } from "../support/process-answers.js";

const NAME = "www.example.com";
/** One sandbox's connections at once (src/egress/limits.ts). */
const MOST_CONNECTIONS = 2048;
const MIB = 1024 * 1024;

/** Each opens connections, sends the start of something on each and keeps them; prints how many it has. */
const PRELUDE = `
import os, resource, socket, struct, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
kept = []
def open_many(count, where, text, pieces=1):
    for _ in range(count):
        try:
            s = socket.create_connection(where, 10)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            step = max(1, len(text) // pieces)
            for i in range(0, len(text), step): s.sendall(text[i:i + step])
            kept.append(s)
        except OSError: pass
def hold():
    print("holding", len(kept), flush=True)
    sys.stdin.read()
http, tls, proxy = ("${NAME}", 80), ("${NAME}", 443), ("127.0.0.1", 3128)
hello = bytes([22, 3, 1, 0x40, 0, 1, 0, 0xff, 0]) + bytes(16000)
`;

const attacks: readonly (readonly [string, string])[] = [
  ["slow requests", `open_many(1000, http, b"GET / HTTP/1.1\\r\\nX-Slow: ")`],
  ["more connections than there may be", `open_many(2300, http, b"G")`],
  ["huge heads", `open_many(1500, http, b"GET / HTTP/1.1\\r\\nX: " + b"a" * 60000)`],
  ["giant hellos byte by byte", `open_many(3, tls, hello, 16009)\nopen_many(600, tls, hello)`],
  ["half of a proxy's greeting", `open_many(500, proxy, b"CONNECT ")\nopen_many(500, proxy, b"\\x05")`],
  ["huge heads to the proxy", `open_many(400, proxy, b"GET http://${NAME}/ HTTP/1.1\\r\\nX: " + b"a" * 60000)`],
  [
    "heads that are slow to read",
    `open_many(20, http, b"GET / HTTP/1.1\\r\\nHost: ${NAME}\\r\\nX: a" + b" " * 60000 + b"b\\r\\n\\r\\n")`,
  ],
  [
    "requests without end on one connection",
    `open_many(5, http, b"GET / HTTP/1.1\\r\\nHost: ${NAME}\\r\\n\\r\\n" * 20000)`,
  ],
];

const memoryBytes = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN) * 1024;
const descriptors = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

describe.skipIf(whyNoWorld() !== null)("N8 connections that are held open or fed slowly", () => {
  let world: NetworkWorld;
  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.name(NAME, [WORLD.public4]);
    // The server waits as patiently as the attacker wishes.
    for (const port of [80, 443]) await world.listen(WORLD.public4, port, { kind: "silent" });
    await world.serve("other.example.com", [WORLD.otherPublic4], 80, { kind: "http" });
  });
  afterAll(() => world?.stop());

  const start = (actor: Actor, script: string): HeldRun =>
    holdCli(
      world.startCli(actor, [
        ...["run", "--allow-domain", NAME, "--open-files", "8192", "--workspace", "none", "--workdir", "/"],
        ...["/usr/bin/python3", "-c", `${PRELUDE}\n${script}\nhold()`],
      ]),
    );

  /** Milliseconds that a request of another sandbox takes, with its start. */
  async function neighbour(actor: Actor): Promise<number> {
    const begin = performance.now();
    const words = ["run", "--allow-domain", "other.example.com", "curl", "-sS", "http://other.example.com/"];
    const ran = await world.runCli(actor, words, { cwd: actor.folder() });
    expect(ran.status, ran.stderr).toBe(0);
    return performance.now() - begin;
  }

  describe.each(actors)("as $name", (actor) => {
    let quietMs: number;
    let idleBytes: number;
    beforeAll(async () => {
      quietMs = await neighbour(actor);
      const idle = start(actor, "open_many(1, http, b'G')");
      await idle.saw(/holding 1/);
      idleBytes = memoryBytes(idle.pid);
      await idle.release();
    });

    it("reach the server without end where there is no sandbox", async () => {
      const script = `${PRELUDE}\nopen_many(2300, http, b"GET / HTTP/1.1\\r\\nX-Slow: ")\nhold()`;
      const attack = holdCli(world.spawn(actor, ["/usr/bin/python3", "-c", script]));
      await attack.saw(/holding 2300/);
      expect((await world.takeRecord()).connections.length).toBeGreaterThan(MOST_CONNECTIONS);
      await attack.release();
    });

    it.each(attacks)(
      "%s: memory and sockets stay bounded, and another sandbox does not notice",
      async (_what, script) => {
        const attack = start(actor, script);
        const [, held] = await attack.saw(/holding (\d+)/);
        expect(Number(held)).toBeGreaterThan(1);
        expect(memoryBytes(attack.pid) - idleBytes).toBeLessThan(96 * MIB);
        expect(descriptors(attack.pid)).toBeLessThan(MOST_CONNECTIONS + 100);
        const busyMs = await neighbour(actor);
        expect(busyMs).toBeLessThan(quietMs * 4 + 2000);
        // It ends at once, whatever is still open.
        const ended = await attack.release();
        expect(ended.status, ended.stderr).toBe(0);
        await world.takeRecord();
      },
    );
  });
});
