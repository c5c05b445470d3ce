/** The network column of the tables of profiles and compatibility modes, and the presets, as seen from inside. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { presetDomains } from "../../src/policy/presets.js";
import { actors } from "../support/actors.js";
import { none, probe, reachedAt } from "../support/network-probe.js";
import { EVERYWHERE, HOST_ADDRESSES, NetworkWorld, WORLD, whyNoWorld } from "../support/network-world.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { makeProject } from "../support/project.js";

const OVER_IPV4 = "four.example.com";
const OVER_IPV6 = "six.example.com";
const PUBLIC = { [OVER_IPV4]: WORLD.public4, [OVER_IPV6]: WORLD.public6 };
const PUBLIC_ADDRESSES = { [WORLD.public4]: WORLD.public4, [WORLD.public6]: WORLD.public6 };
const PRIVATE_NAME = "intranet.example.com";
const INSIDE = [...WORLD.private4, ...WORLD.private6, ...WORLD.metadata, ...HOST_ADDRESSES];
const INSIDE_NAMES = [PRIVATE_NAME, "metadata.google.internal"];
const MCP_NAME = "mcp.example.com";

/** Names that a pattern covers. */
const namesOf = (pattern: string): readonly string[] =>
  pattern.startsWith("*.") ? [pattern.replace("*", "one"), pattern.replace("*", "two.one")] : [pattern];
const namesOfPreset = (preset: string): readonly string[] => (presetDomains[preset] ?? []).flatMap(namesOf);
const registries = namesOfPreset("package-registries");

const modes = [
  { mode: "claude", api: ["api.anthropic.com", "cdn.anthropic.com"] },
  { mode: "codex", api: ["api.openai.com", "cdn.openai.com"] },
  { mode: "gemini", api: ["generativelanguage.googleapis.com", "storage.googleapis.com", "a.b.googleapis.com"] },
] as const;
/** Near to what is allowed, and not it. */
const near = ["anthropic.com", "v1.api.anthropic.com", "openai.com", "googleapis.com", "api.anthropic.com.example.com"];

describe.skipIf(whyNoWorld() !== null)("the network", () => {
  let world: NetworkWorld;

  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.listen(EVERYWHERE, 80, { kind: "http" });
    const names = [
      ...registries,
      ...modes.flatMap(({ api }) => api),
      ...near,
      ...namesOfPreset("cloud-apis"),
      MCP_NAME,
    ];
    for (const name of [...names, ...["anthropic", "openai", "google"].flatMap(namesOfPreset)]) {
      await world.name(name, [WORLD.otherPublic4]);
    }
    await world.name(OVER_IPV4, [WORLD.public4]);
    await world.name(OVER_IPV6, [WORLD.public6]);
    await world.name(PRIVATE_NAME, [WORLD.private4[0], WORLD.private6[0]]);
    await world.name("metadata.google.internal", [WORLD.metadata[0]]);
  });
  afterAll(() => world?.stop());

  describe.each(actors)("as $name", (actor) => {
    leavesNothingBehind();
    it("outside a sandbox reaches all of it, so that what a sandbox does not reach was kept from it", async () => {
      for (const host of [...Object.keys(PUBLIC), ...INSIDE_NAMES, ...INSIDE.slice(0, -HOST_ADDRESSES.length)]) {
        const url = `http://${host.includes(":") ? `[${host}]` : host}/`;
        const { stdout, stderr } = await world.runOutside(actor, ["curl", "-sS", "-m", "10", url]);
        expect(stdout, `${url}: ${stderr}`).toContain('"address"');
      }
    });

    it.each([
      { name: "the default", words: [] },
      { name: "profile moderate", words: ["-p", "moderate"] },
      { name: "profile permissive", words: ["-p", "permissive"] },
      { name: "mode native", words: ["--compatibility-mode", "native"] },
    ])("$name reaches what is public, by name and by address, and nothing else", async ({ words }) => {
      await world.takeRecord();
      const seen = await probe(world, actor, words, [
        ...Object.keys(PUBLIC),
        ...Object.keys(PUBLIC_ADDRESSES),
        ...INSIDE,
        ...INSIDE_NAMES,
        "localhost",
        "unknown.example.com",
      ]);
      const out = none([...INSIDE, ...INSIDE_NAMES, "localhost", "unknown.example.com"]);
      expect(seen.found).toEqual({ ...PUBLIC, ...PUBLIC_ADDRESSES, ...out });
      expect([...seen.blocked].sort()).toEqual([...INSIDE, ...INSIDE_NAMES].sort());
      const { connections } = await world.takeRecord();
      expect(connections.map(({ address }) => address).sort()).toEqual(
        [WORLD.public4, WORLD.public4, WORLD.public6, WORLD.public6].sort(),
      );
    });

    it.each([
      { name: "profile restrictive", words: ["-p", "restrictive"] },
      { name: "restrictive beside a mode", words: ["-p", "restrictive", "--compatibility-mode", "claude"] },
      ...["permissive", "moderate", "restrictive"].map((profile) => ({
        name: `--no-network with ${profile}`,
        words: ["-p", profile, "--no-network"],
      })),
      ...["native", "claude", "codex", "gemini"].map((mode) => ({
        name: `--no-network with ${mode}`,
        words: ["--compatibility-mode", mode, "--no-network"],
      })),
    ])("$name reaches nothing, and at once", async ({ words }) => {
      await world.takeRecord();
      const hosts = [...Object.keys(PUBLIC), ...Object.keys(PUBLIC_ADDRESSES), "api.anthropic.com", ...INSIDE];
      const seen = await probe(world, actor, words, hosts);
      expect(seen.found).toEqual(none(hosts));
      expect(seen.ms).toBeLessThan(10_000);
      expect(await world.takeRecord()).toEqual({ queries: [], connections: [], requests: [] });
    });

    it.each(modes)("mode $mode reaches its API and the package registries, and nothing else", async ({ mode, api }) => {
      await world.takeRecord();
      const others = [...modes.flatMap((one) => (one.mode === mode ? [] : one.api)), ...near, ...Object.keys(PUBLIC)];
      const out = [...others, ...Object.keys(PUBLIC_ADDRESSES), ...INSIDE, ...INSIDE_NAMES];
      const words = ["--compatibility-mode", mode];
      const seen = await probe(world, actor, words, [...api, ...registries, ...out]);
      expect(seen.found).toEqual({ ...reachedAt(WORLD.otherPublic4, [...api, ...registries]), ...none(out) });
      expect([...seen.blocked].sort()).toEqual([...out].sort());
      const { queries } = await world.takeRecord();
      expect(queries.map(({ name }) => name).filter((name) => out.includes(name))).toEqual([]);
    });

    it("a more open profile beside a mode leaves the mode's network", async () => {
      const words = ["-p", "permissive", "--compatibility-mode", "claude"];
      const seen = await probe(world, actor, words, ["api.anthropic.com", OVER_IPV4]);
      expect(seen.found).toEqual({ "api.anthropic.com": WORLD.otherPublic4, [OVER_IPV4]: "no" });
    });

    const withPolicy = (net: string, more: Readonly<Record<string, string>> = {}) =>
      makeProject(actor, { "sandbox.policy.yaml": `version: 1\nnet:\n${net}`, ...more }).path;
    const byPolicy = ["--policy", "sandbox.policy.yaml"];

    it("the preset cloud-apis, denied, takes the vendors' control planes out of an open network", async () => {
      const clouds = namesOfPreset("cloud-apis");
      const cwd = withPolicy("  egress: true\n  deny: [ { preset: cloud-apis } ]\n");
      const seen = await probe(world, actor, byPolicy, [OVER_IPV4, "api.anthropic.com", ...clouds], cwd);
      const reached = { [OVER_IPV4]: WORLD.public4, "api.anthropic.com": WORLD.otherPublic4 };
      expect(seen.found).toEqual({ ...reached, ...none(clouds) });
    });

    it.each(["anthropic", "openai", "google"])("the preset %s allows its names alone", async (preset) => {
      const names = namesOfPreset(preset);
      const cwd = withPolicy(`  egress: allowlist\n  allow: [ { preset: ${preset} } ]\n`);
      const seen = await probe(world, actor, byPolicy, [...names, OVER_IPV4], cwd);
      expect(seen.found).toEqual({ ...reachedAt(WORLD.otherPublic4, names), [OVER_IPV4]: "no" });
    });

    it("the preset mcp-servers allows the hosts of the project's MCP configuration", async () => {
      const servers = { mcpServers: { one: { type: "http", url: `http://${MCP_NAME}/mcp` } } };
      const cwd = withPolicy("  egress: allowlist\n  allow: [ { preset: mcp-servers } ]\n", {
        ".mcp.json": JSON.stringify(servers),
      });
      const untrusted = await probe(world, actor, byPolicy, [MCP_NAME, OVER_IPV4], cwd);
      expect(untrusted.found).toEqual(none([MCP_NAME, OVER_IPV4]));
      expect((await world.runCli(actor, ["trust"], { cwd })).stdout).toContain(MCP_NAME);
      const seen = await probe(world, actor, byPolicy, [MCP_NAME, OVER_IPV4], cwd);
      expect(seen.found).toEqual({ [MCP_NAME]: WORLD.otherPublic4, [OVER_IPV4]: "no" });
    });

    it.each([
      ["--allow-domain", ["--allow-domain", "api.anthropic.com"]],
      ["--network allowlist", ["--network", "allowlist"]],
      ["the mode that the hook names", ["--compatibility-mode", "claude"]],
    ])("A5: a project's domains.allow adds nothing to %s, until the user trusts it", async (_how, words) => {
      const { path } = makeProject(actor, { "agentkernel.toml": `security.domains.allow = ["${MCP_NAME}"]\n` });
      expect((await probe(world, actor, words, [MCP_NAME], path)).found).toEqual({ [MCP_NAME]: "no" });
      expect((await world.runCli(actor, ["trust"], { cwd: path })).stdout).toContain(MCP_NAME);
      expect((await probe(world, actor, words, [MCP_NAME], path)).found).toEqual({ [MCP_NAME]: WORLD.otherPublic4 });
    });

    it("an allowed name of a private address is denied; a cidr opens it, by name and by address", async () => {
      const [private4] = WORLD.private4;
      const hosts = [PRIVATE_NAME, ...WORLD.private4];
      const named = `  egress: allowlist\n  allow: [ { domain: ${PRIVATE_NAME} }`;
      const shut = await probe(world, actor, byPolicy, hosts, withPolicy(`${named} ]\n`));
      expect(shut.found).toEqual(none(hosts));
      const open = await probe(world, actor, byPolicy, hosts, withPolicy(`${named}, { cidr: 10.0.0.0/8 } ]\n`));
      expect(open.found).toEqual({ ...none(hosts), [PRIVATE_NAME]: private4, [private4]: private4 });
    });

    it("an empty allowlist reaches nothing", async () => {
      const hosts = [...Object.keys(PUBLIC), ...Object.keys(PUBLIC_ADDRESSES)];
      const seen = await probe(world, actor, ["--network", "allowlist"], hosts);
      expect(seen.found).toEqual(none(hosts));
    });

    it("a sandbox cannot widen its own: what it writes changes neither this network nor the next", async () => {
      const policy = "version: 1\nnet:\n  egress: allowlist\n  allow: []\n";
      const project = makeProject(actor, { "sandbox.policy.yaml": policy });
      const words = [...byPolicy, "--workspace", "sync"];
      const widen = `
for file in sandbox.policy.yaml agentkernel.toml .mcp.json; do
  { rm -f $file; printf 'version: 1\\nnet: { egress: true }\\n' > $file; } 2>/dev/null
done
unset HTTP_PROXY http_proxy
curl -sf -m 20 http://${OVER_IPV4}/; curl -s -m 20 -X PATCH -d '{"network":"on"}' http://127.0.0.1:3128/policy
curl -sf -m 20 http://${OVER_IPV4}/ && echo reached; true`;
      const inside = await world.runCli(actor, ["run", ...words, "--", "sh", "-c", widen], { cwd: project.path });
      expect(inside.stdout).not.toMatch(/reached|"address"/);
      expect(readFileSync(join(project.path, "sandbox.policy.yaml"), "utf8")).toBe(policy);
      const next = await probe(world, actor, words, [OVER_IPV4], project.path);
      expect(next.found).toEqual(none([OVER_IPV4]));
    });
  });
});
