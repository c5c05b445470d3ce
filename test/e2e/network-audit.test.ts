/** Every egress decision is in the audit log, as it was made; and a policy that changes is judged by from then on. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NetworkRules } from "../../src/core/policy.js";
import { SandboxEgress } from "../../src/runtime/sandbox-egress.js";
import { Subject } from "../contract/suite/subject.js";
import { actors } from "../support/actors.js";
import { linuxBackendOf } from "../support/linux-backend.js";
import { answering, withServer } from "../support/loopback-server.js";
import { EVERYWHERE, NetworkWorld, WORLD, whyNoWorld } from "../support/network-world.js";

const ALLOWED = "allowed.example.com";
const DENIED = "denied.example.com";
const PRIVATE = "intranet.example.com";

describe.skipIf(whyNoWorld() !== null)("the audit log", () => {
  let world: NetworkWorld;

  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.listen(EVERYWHERE, 80, { kind: "http" });
    await world.listen(EVERYWHERE, 443, { kind: "http", tls: world.tls(ALLOWED) });
    for (const name of [ALLOWED, DENIED]) await world.name(name, [WORLD.public4]);
    await world.name(PRIVATE, [WORLD.private4[0]]);
  });
  afterAll(() => world?.stop());

  it.each(actors)("has every egress decision with its rule and addresses, as $name", async (actor) => {
    const options = { cwd: actor.folder(), env: { XDG_STATE_HOME: actor.folder("state") } };
    const script = `
unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy
curl -s http://${ALLOWED}/ ; curl -sk https://${ALLOWED}/ ; curl -s http://${DENIED}/ ; curl -s http://${PRIVATE}/
curl -s http://${WORLD.metadata[0]}/ ; curl -s -H 'Host: ${DENIED}' http://${ALLOWED}/
curl -s -x http://127.0.0.1:3128 http://${DENIED}/ ; true`;
    const words = ["run", "--allow-domain", ALLOWED, "--allow-domain", PRIVATE, "--", "sh", "-c", script];
    const ran = await world.runCli(actor, words, options);
    expect(ran.status, ran.stderr).toBe(0);
    const listed = await world.runCli(actor, ["audit", "list", "--type", "egress", "--json"], options);
    expect(listed.status, listed.stderr).toBe(0);
    const records: Record<string, unknown>[] = JSON.parse(listed.stdout).data;
    const every = records.map(({ phase, via, asked, port, verdict }) => [phase, via, asked, port, verdict].join(" "));
    // A name is looked up once for each family.
    // When a connection ends, and when the next is decided about, is in no order.
    const sorted = (lines: readonly string[]) => [...new Set(lines)].sort();
    expect(sorted(every)).toEqual(
      sorted([
        `decided capture ${ALLOWED} 80 allowed`,
        `ended capture ${ALLOWED} 80 allowed`,
        `decided capture ${ALLOWED} 443 allowed`,
        `ended capture ${ALLOWED} 443 allowed`,
        `decided capture ${DENIED} 0 denied`,
        `decided capture ${PRIVATE} 0 denied`,
        `decided capture ${WORLD.metadata[0]} 80 denied`,
        `decided capture ${ALLOWED} 80 allowed`,
        `ended capture ${ALLOWED} 80 denied`,
        `decided proxy ${DENIED} 80 denied`,
      ]),
    );
    const of = (asked: string, port: number) => records.filter((one) => one.asked === asked && one.port === port);
    expect(of(ALLOWED, 80)[1]).toMatchObject({
      rule: `allow domain ${ALLOWED}`,
      addresses: [WORLD.public4],
      dialled: WORLD.public4,
      seen: ALLOWED,
      bytesIn: expect.any(Number),
      bytesOut: expect.any(Number),
    });
    expect(Number(of(ALLOWED, 80)[1]?.bytesIn)).toBeGreaterThan(0);
    expect(of(ALLOWED, 443)[1]).toMatchObject({ seen: ALLOWED });
    expect(of(PRIVATE, 0)[0]).toMatchObject({ rule: expect.stringContaining("private network") });
    expect(of(WORLD.metadata[0], 80)[0]).toMatchObject({
      rule: expect.stringContaining("cloud metadata"),
      dialled: null,
    });
    expect(of(ALLOWED, 80).at(-1)).toMatchObject({ seen: DENIED });
    const denied = await world.runCli(actor, ["audit", "list", "--denied", "--json"], options);
    const all: Record<string, unknown>[] = JSON.parse(denied.stdout).data;
    expect(all).toHaveLength(records.filter(({ verdict }) => verdict === "denied").length);
    const verified = await world.runCli(actor, ["audit", "verify"], options);
    expect(verified.status, verified.stderr).toBe(0);
  });
});

describe.each(actors)("a policy that changes while a sandbox runs, as $name", (actor) => {
  it("holds from the next connection on, both ways", async () => {
    await withServer(answering("reached"), async (port) => {
      const shut: NetworkRules = { egress: "allowlist", allow: [], deny: [] };
      const open: NetworkRules = { ...shut, allow: [{ cidr: "127.0.0.1/32", ports: [port] }] };
      let rules = shut;
      const egress = new SandboxEgress({ sandbox: "changing", rules: () => rules, env: {}, onDecision: () => {} });
      const sandbox = await Subject.boot(linuxBackendOf(actor), { fields: { "net.egress": "allowlist" }, egress });
      try {
        const ask = async () =>
          (await sandbox.sh(`curl -sf -x http://127.0.0.1:3128 http://127.0.0.1:${port}/`)).stdout;
        expect(await ask()).toBe("");
        rules = open;
        expect(await ask()).toBe("reached");
        rules = shut;
        expect(await ask()).toBe("");
      } finally {
        await egress.close();
        await sandbox.kill();
      }
    });
  });
});
