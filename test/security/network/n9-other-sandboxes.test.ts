import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { HOST_ADDRESSES, NetworkWorld, WORLD, whyNoWorld } from "../../support/network-world.js";
import { awaitGuest, awaitJail } from "../../support/process-tree.js";
import { type Attempt, denied, notReached, tryInside, tryOutside, ways } from "../support/network-attack.js";
import { type HeldRun, holdCli } from "../support/process-answers.js";

const PUBLIC = "www.example.com";
/** Names that lead to the published port. */
const NAMES: Readonly<Record<string, string>> = {
  "loopback.example.net": "127.0.0.1",
  "host.example.net": HOST_ADDRESSES[0],
  "sandbox.example.net": "198.18.0.1",
};
const ABSTRACT = "agentkernel-neighbour";

/** A service in a sandbox: on every address that it has, and as an abstract socket. */
const SERVE = `
import socket, sys, threading
def serve(s):
    while True:
        c, _ = s.accept()
        c.recv(65536)
        print("VISITED", flush=True)
        c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
        c.close()
tcp = socket.create_server(("::", 8080), family=socket.AF_INET6, dualstack_ipv6=True)
unix = socket.socket(socket.AF_UNIX)
unix.bind("\\0${ABSTRACT}")
unix.listen()
for s in (tcp, unix): threading.Thread(target=serve, args=(s,), daemon=True).start()
print("serving", flush=True)
sys.stdin.read()
`;

const UNIX = `
import socket
try:
    s = socket.socket(socket.AF_UNIX)
    s.connect("\\0${ABSTRACT}")
    s.sendall(b"x")
    print("reached" if s.recv(99) else "ended")
except OSError as e: print("refused", e.errno)
`;

describe.skipIf(whyNoWorld() !== null)("N9 one sandbox and another", () => {
  let world: NetworkWorld;
  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.serve(PUBLIC, [WORLD.public4], 80, { kind: "http" });
    for (const [name, address] of Object.entries(NAMES)) await world.name(name, [address]);
  });
  afterAll(() => world?.stop());

  async function serveIn(actor: Actor, network: readonly string[]): Promise<{ run: HeldRun; port: number }> {
    const options = [...network, "--publish", "0:8080", "--publish", `${HOST_ADDRESSES[0]}:18080:8080`];
    const words = ["run", ...options, "--workspace", "none", "--workdir", "/", "/usr/bin/python3", "-c", SERVE];
    const child = world.startCli(actor, words);
    let said = "";
    const published = new Promise<number>((resolve) => {
      child.stderr?.on("data", (chunk: Buffer) => {
        said += String(chunk);
        const port = /port 8080 of the sandbox is 127\.0\.0\.1:(\d+)/.exec(said)?.[1];
        if (port !== undefined) resolve(Number(port));
      });
    });
    const run = holdCli(child);
    await run.saw(/serving/);
    return { run, port: await published };
  }

  describe.each(actors)("as $name", (actor) => {
    beforeEach(() => world.takeRecord());

    it.each([
      ["on", ["--network", "on"], ["--network", "on"]],
      [
        "an allowlist with its names",
        ["--network", "on"],
        Object.keys(NAMES).flatMap((name) => ["--allow-domain", name]),
      ],
      ["one without a network", ["--no-network"], ["--network", "on"]],
    ])("do not reach each other, by address, name or published port (%s)", async (_how, theirs, ours) => {
      const { run, port } = await serveIn(actor, theirs);
      try {
        // Whom it is published to reaches it.
        const host = [["direct", "127.0.0.1", port] as const, ["direct", HOST_ADDRESSES[0], 18080] as const];
        expect((await tryOutside(world, actor, host)).map((one) => one.reached)).toEqual([true, true]);
        const before = run.stdout();

        const own = ["198.18.0.1", "198.18.0.2", "fd61:6b6e:6c00::1", "127.0.0.1", "::1", ...HOST_ADDRESSES];
        const hosts = [...own, ...Object.keys(NAMES)];
        const attempts = ways.flatMap((way) =>
          hosts
            .filter((one) => way !== "socks-address" || !/[a-z]\./.test(one))
            .flatMap((one): Attempt[] => [8080, port, 18080].map((to) => [way, one, to])),
        );
        const { tried, decisions } = await tryInside(world, actor, ours, attempts);
        expect(notReached(tried)).toEqual([]);
        expect(run.stdout()).toBe(before);
        expect(denied(decisions)).toContain(`127.0.0.1:${port}`);
        expect(denied(decisions)).toContain(`${HOST_ADDRESSES[0]}:18080`);
        expect((await world.takeRecord()).connections).toEqual([]);
      } finally {
        await run.release();
      }
    });

    it("have abstract sockets of their own", async () => {
      const unix = ["/usr/bin/python3", "-c", UNIX];
      const outside = holdCli(world.spawn(actor, ["/usr/bin/python3", "-c", SERVE]));
      await outside.saw(/serving/);
      expect((await world.runOutside(actor, unix)).stdout).toBe("reached\n");
      const { run } = await serveIn(actor, ["--network", "on"]);
      try {
        // In the other's own network it is there, for whoever may enter it.
        const guest = awaitGuest(awaitJail(run.pid));
        expect(readFileSync(`/proc/${guest}/net/unix`, "utf8")).toContain(`@${ABSTRACT}`);
        const words = ["run", "--network", "on", "--workspace", "none", "--workdir", "/", ...unix];
        expect((await world.runCli(actor, words)).stdout).toBe("refused 111\n");
        expect(run.stdout()).not.toContain("VISITED");
      } finally {
        await run.release();
        await outside.release();
      }
    });
  });
});
