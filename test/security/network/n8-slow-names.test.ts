/** Names that nobody answers for, asked for in masses through one daemon: others look up as if nothing were. */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { clientOf, onlyThroughDaemon } from "../../support/daemon.js";
import { NetworkWorld, WORLD, whyNoWorld } from "../../support/network-world.js";

const OTHER = "other.example.com";

/** Asks for so many names at once, and goes away while the questions are on their way. */
const masses = (sandbox: number) => `
import re, socket, struct, time
server = re.search(r"nameserver (\\S+)", open("/etc/resolv.conf").read()).group(1)
s = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM)
for n in range(250):
    labels = f"n{n}-${sandbox}.slow.example.com".split(".")
    name = b"".join(bytes([len(label)]) + label.encode() for label in labels) + b"\\0"
    s.sendto(struct.pack(">6H", n, 0x100, 1, 0, 0, 0) + name + struct.pack(">HH", 1, 1), (server, 53))
time.sleep(1.7)
print("asked")
`;

describe.skipIf(whyNoWorld() !== null)("N8 names that are never answered", () => {
  let world: NetworkWorld;
  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.name("*.slow.example.com", ["silent"]);
    await world.serve(OTHER, [WORLD.otherPublic4], 80, { kind: "http" });
  });
  afterAll(() => world?.stop());

  it.each(actors)("end with their sandboxes, and hold up nobody meanwhile, as $name", async (actor) => {
    const caller = onlyThroughDaemon(clientOf(actor));
    const env = { ...caller.variables };
    const daemon = world.startCli(caller, ["daemon", "run"], { env });
    await once(daemon.stdout ?? daemon, "data");
    const [program = "", ...first] = caller.program ?? [];
    const run = (...words: readonly string[]) =>
      world.runOutside(caller, [program, ...first, "run", "--workspace", "none", "--workdir", "/", ...words], { env });
    const neighbour = () => run("--allow-domain", OTHER, "curl", "-sS", "-o", "/dev/null", `http://${OTHER}/`);
    try {
      expect((await neighbour()).status).toBe(0);
      const attacks = [1, 2, 3].map((n) =>
        run("--allow-domain", "*.slow.example.com", "/usr/bin/python3", "-c", masses(n)),
      );
      const during = await neighbour();
      expect(during.status, during.stderr).toBe(0);
      for (const attack of await Promise.all(attacks)) expect(attack.stdout, attack.stderr).toBe("asked\n");
      const asked = (await world.takeRecord()).queries.filter(({ name }) => name.endsWith(".slow.example.com"));
      expect(asked.length).toBeGreaterThan(0);
      const after = await neighbour();
      expect(after.status, after.stderr).toBe(0);
      const late = (await world.takeRecord()).queries.filter(({ name }) => name.endsWith(".slow.example.com"));
      expect(late).toEqual([]);
    } finally {
      daemon.kill("SIGTERM");
      await once(daemon, "close");
    }
  });
});
