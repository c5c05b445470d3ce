/** Many connections through capture and gateway, by the real command line, in a world of the test's own. */
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { EVERYWHERE, NetworkWorld, WORLD, whyNoWorld } from "../support/network-world.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { awaitGuest, awaitJail } from "../support/process-tree.js";
import { WatchedProcess } from "../support/watched-process.js";

const NAME = "echo.example.com";
const BUSY_PORT = 7;
const QUIET_PORT = 7077;
const SHORT = 10_000;
const AT_ONCE = 1_000;

/** For each number on stdin: that many connections, one after the other, some ended in order and some reset. */
const SHORT_ONES = `
import socket, struct, sys
for line in sys.stdin:
    for i in range(int(line)):
        s = socket.create_connection(("${NAME}" if i % 3 else "${WORLD.public4}", ${BUSY_PORT}), timeout=30)
        if i % 4:
            s.sendall(b"x")
            assert s.recv(1) == b"x"
        if i % 5 == 0: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    print("done", line, flush=True)
`;

/** Opens them all, then talks on each of them round after round until stdin ends. */
const MANY_AT_ONCE = `
import select, socket, sys
all = [socket.create_connection(("${NAME}", ${BUSY_PORT}), timeout=60) for _ in range(${AT_ONCE})]
print("open", flush=True)
rounds = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    for s in all: s.sendall(b"y" * 256)
    for s in all:
        left = 256
        while left: left -= len(s.recv(left)) or sys.exit("cut off")
    rounds += 1
    print("round", rounds, flush=True)
`;

/** For each line on stdin: how long a connection and one exchange on it take, in microseconds, the median of many. */
const LATENCY = `
import socket, statistics, sys, time
for line in sys.stdin:
    took = []
    for _ in range(200):
        began = time.monotonic()
        with socket.create_connection(("${NAME}", ${QUIET_PORT}), timeout=60) as s:
            s.sendall(b"z")
            assert s.recv(1) == b"z"
        took.append(time.monotonic() - began)
    print("median", int(statistics.median(took) * 1e6), flush=True)
`;

/** A server of its own for whoever is measured, so that what is shared is only the product. */
const QUIET_SERVER = `
import socket, threading
server = socket.create_server(("${WORLD.public4}", ${QUIET_PORT}), backlog=512)
print("listening", flush=True)
def serve(s):
    with s:
        while data := s.recv(100): s.sendall(data)
while True: threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
`;

function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function memoryKiB(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]);
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe.skipIf(whyNoWorld() !== null)("through capture and gateway", () => {
  let world: NetworkWorld;

  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.listen(EVERYWHERE, BUSY_PORT, { kind: "echo" });
    await world.name(NAME, [WORLD.public4]);
  });
  afterAll(() => world?.stop());

  describe.each(actors)("as $name", (actor) => {
    leavesNothingBehind();
    const start = (script: string) => inSandbox(world, actor, script);

    it("ten thousand short connections leave nothing open and no memory taken", { timeout: 180_000 }, async () => {
      const run = start(SHORT_ONES);
      try {
        const guest = awaitGuest(awaitJail(run.pid));
        run.type("200\n");
        await run.until(/done 200/);
        await until(() => memoryKiB(guest) < 1024);
        const before = [openFiles(run.pid), openFiles(guest)];
        run.type(`${SHORT / 2}\n${SHORT / 2 + 1}\n`);
        await run.until(/done 5000/);
        const half = memoryKiB(run.pid);
        await run.until(/done 5001/);
        await until(() => openFiles(run.pid) <= (before[0] ?? 0) && openFiles(guest) <= (before[1] ?? 0));
        await until(() => memoryKiB(guest) < 1024);
        expect(memoryKiB(run.pid) - half).toBeLessThan(64 * 1024);
        run.child.stdin?.end();
        expect((await run.end).status, run.stderr).toBe(0);
        expect((await world.takeRecord()).connections).toHaveLength(200 + SHORT + 1);
      } finally {
        run.child.kill("SIGKILL");
      }
    });

    it("a thousand connections of one sandbox leave another its latency", { timeout: 180_000 }, async () => {
      const server = new WatchedProcess(world.spawnInWorld(actor, ["python3", "-c", QUIET_SERVER]));
      const measured = start(LATENCY);
      const others: WatchedProcess[] = [server, measured];
      const median = async (pattern: RegExp) => Number((await measured.until(pattern))[1]);
      try {
        await server.until(/listening/);
        measured.type("alone\n");
        const alone = await median(/median (\d+)\n/);
        const busy = start(MANY_AT_ONCE);
        others.push(busy);
        await busy.until(/round 1\n/);
        const roundsBefore = busy.stdout.split("\n").length;
        measured.type("beside\n");
        const beside = await median(/median \d+\nmedian (\d+)\n/);
        const rounds = busy.stdout.split("\n").length - roundsBefore;
        expect(rounds).toBeGreaterThan(0);
        console.info(`median of a connection: ${alone} µs alone, ${beside} µs beside ${AT_ONCE} (${rounds} rounds)`);
        expect(beside).toBeLessThan(Math.max(10 * alone, 20_000));
        for (const run of [busy, measured]) {
          run.child.stdin?.end();
          expect((await run.end).status, run.stderr).toBe(0);
        }
        expect((await world.takeRecord()).connections).toHaveLength(AT_ONCE);
      } finally {
        for (const run of others) run.child.kill("SIGKILL");
      }
    });
  });
});

function inSandbox(world: NetworkWorld, actor: Actor, script: string): WatchedProcess {
  const words = ["run", "--network", "on", "--", "python3", "-c", script];
  return new WatchedProcess(world.startCli(actor, words, { cwd: actor.folder() }));
}
