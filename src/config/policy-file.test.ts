import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { resolve } from "../policy/resolve.js";
import { readConfigFile } from "./config-file.js";
import { readPolicyFile } from "./policy-file.js";

const read = async (text: string, name = "p.yaml") =>
  await readPolicyFile({ name, bytes: Buffer.from(text) }, "/home/u/project");

async function policyOf(text: string, name = "p.yaml") {
  const { value, faults } = await read(text, name);
  expect(faults).toEqual([]);
  return resolve({ policyFile: value ?? [] });
}

const whole = `version: 1
fs:
  workspace: { mode: sync, readonly: false }
  mounts: [ { host: ./vendor, guest: /deps, readonly: false }, { host: /opt/data, guest: /data } ]
  tmp: { size_mb: 64 }
  deny: [ "**/*.secret" ]
  protect: [ "ci/keep" ]
net:
  egress: allowlist
  allow: [ { domain: "*.Example.com", ports: [443] }, { cidr: 10.1.0.0/16 }, { preset: openai } ]
  deny:  [ { preset: cloud-apis } ]
  secrets: [ { name: API_KEY, host: api.example.com, header: X-Api-Key }, { name: B, host: b.example.com } ]
proc:
  cpu_quota: 1.5
  mem_limit: 1g
  wall_timeout: 10m
  fork_limit: 64
  no_root: true
  output_limit: 8m
`;

describe("a whole policy", () => {
  test("sets what it says", async () => {
    const { policy } = await policyOf(whole);
    expect(policy.fs).toMatchObject({
      workspace: { mode: "sync", readonly: false },
      mounts: [
        { host: "/home/u/project/vendor", guest: "/deps", readonly: false },
        { host: "/opt/data", guest: "/data", readonly: true },
      ],
      tmpMiB: 64,
    });
    expect(policy.fs.deny).toContainEqual({ glob: "**/*.secret" });
    expect(policy.fs.protect).toContain("ci/keep");
    expect(policy.net).toEqual({
      egress: "allowlist",
      allow: [{ domain: "*.example.com", ports: [443] }, { cidr: "10.1.0.0/16" }, { preset: "openai" }],
      deny: [{ preset: "cloud-apis" }],
      secrets: [
        { name: "API_KEY", host: "api.example.com", header: "x-api-key" },
        { name: "B", host: "b.example.com", header: "authorization" },
      ],
    });
    expect(policy.proc.noRoot).toBe(true);
    expect(policy.resources).toMatchObject({ vcpus: 1.5, memoryMiB: 1024, timeoutMs: 600_000, pids: 67, outputMiB: 8 });
  });

  test("names the line of each field", async () => {
    const { origins } = await policyOf(whole);
    expect(origins).toMatchObject({
      "fs.workspace.mode": "p.yaml:3",
      "fs.tmpMiB": "p.yaml:5",
      "fs.deny": "default, p.yaml:6",
      "net.egress": "p.yaml:9",
      "net.allow": "p.yaml:10",
      "resources.pids": "p.yaml:17",
      "resources.outputMiB": "p.yaml:19",
    });
  });

  test("is the same as JSON", async () => {
    const json = JSON.stringify(
      {
        version: 1,
        $schema: "./x",
        net: { egress: false, deny: [{ domain: "a.example" }] },
        proc: { mem_limit: "64m" },
      },
      null,
      "\t",
    );
    const { policy, origins } = await policyOf(json, "p.json");
    expect(policy.net).toMatchObject({ egress: "off", deny: [{ domain: "a.example" }] });
    expect(origins["resources.memoryMiB"]).toBe("p.json:13");
  });
});

describe("what it does not open stays shut", () => {
  test.each([
    ["version: 1", "off"],
    ["version: 1\nnet: {}", "off"],
    ["version: 1\nnet: { deny: [] }", "off"],
    ["version: 1\nnet: { egress: false, allow: [ { domain: a.example } ] }", "off"],
    ["version: 1\nnet: { allow: [ { domain: a.example } ] }", "allowlist"],
    ["version: 1\nnet: { egress: allowlist }", "allowlist"],
    ["version: 1\nnet: { egress: true }", "on"],
  ])("%j is %s", async (text, egress) => {
    expect((await policyOf(text)).policy.net.egress).toBe(egress);
  });

  test("its allowlist is the whole list, also where it is empty and a mode has one", async () => {
    const { value } = await read("version: 1\nnet: { egress: allowlist, allow: [] }");
    const mode = { name: "claude", origin: "--compatibility-mode", by: "flag" } as const;
    const project = [{ origin: "agentkernel.toml:1", fields: { "net.allow": [{ domain: "more.example" }] } }];
    expect(resolve({ mode, project, policyFile: value ?? [] }).policy.net.allow).toEqual([]);
  });
});

describe("a fault names file, line, column and what was likely meant", () => {
  test.each<[string, number, number, string]>([
    ["", 1, 1, "version is missing"],
    ["fs: {}", 1, 1, "version is missing"],
    ["version: 2", 1, 10, "version is 2"],
    ["version: '1'", 1, 10, "version is a text"],
    ["[]", 1, 1, "is a list, not a table"],
    ["version: 1\nfs: [ a ]", 2, 5, "fs is a list"],
    ["version: 1\nnet:\n  egress: off", 3, 11, 'net.egress cannot be "off": it is false, true or allowlist'],
    ["version: 1\nnet:\n  allow: [ { domain: '*' } ]", 3, 22, "net.allow[0].domain"],
    ["version: 1\nnet:\n  allow: [ { domain: a.example, cidr: 10.0.0.0/8 } ]", 3, 12, "exactly one of"],
    ["version: 1\nnet:\n  allow: [ {} ]", 3, 12, "exactly one of"],
    ["version: 1\nnet:\n  allow: [ { preset: openai, ports: [1] } ]", 3, 12, "a preset takes no ports"],
    ["version: 1\nnet:\n  allow: [ { domain: a.example, ports: [] } ]", 3, 40, "empty list"],
    ["version: 1\nnet:\n  allow: [ { domain: a.example, ports: [0] } ]", 3, 41, "ports[0] is 0"],
    ["version: 1\nnet:\n  allow: [ { cidr: 10.0.0.0/33 } ]", 3, 20, "more than 32 bits"],
    ["version: 1\nnet:\n  secrets: [ { name: A } ]", 3, 14, "net.secrets[0].host is missing"],
    ["version: 1\nnet:\n  secrets: [ { name: A, host: '*.a.example' } ]", 3, 31, "one host only"],
    ["version: 1\nnet:\n  secrets: [ { name: A, host: a.example, header: host } ]", 3, 50, "steers the connection"],
    ["version: 1\nfs:\n  mounts: [ { host: ~/x, guest: /x } ]", 3, 21, "write the folder out"],
    ["version: 1\nfs:\n  mounts: [ { host: x, guest: /proc } ]", 3, 31, "belongs to the sandbox itself"],
    ["version: 1\nfs:\n  deny: [ '/abs' ]", 3, 11, "is not a glob"],
    ["version: 1\nproc:\n  mem_limit: 1024", 3, 14, "proc.mem_limit is a number, not a size such as 2g"],
    ["version: 1\nproc:\n  mem_limit: 1m", 3, 14, "not within 16m to 1t"],
    ["version: 1\nproc:\n  wall_timeout: 10", 3, 17, "not a time such as 10m"],
    ["version: 1\nproc:\n  fork_limit: .nan", 3, 15, "proc.fork_limit is NaN"],
    ["version: 1\nproc:\n  no_root: yes", 3, 12, "proc.no_root is a text"],
    ["version: 1\nproc:\n  no_root:", 3, 11, "proc.no_root is empty"],
    ["version: 1\nversion: 1", 2, 1, 'the key "version" is there twice'],
    ["version: 1\n__proto__: {}", 2, 1, 'there is no key "__proto__"'],
    ["version: 1\n<<: { a: 1 }", 2, 1, 'there is no key "<<"'],
    ["version: 1\n? [a]\n: 1", 2, 3, "a key is not a text"],
    ["version: 1\n---\nversion: 1", 2, 1, "more than one document"],
    ["version: 1\nfs: &a {}\nnet: *a", 2, 8, "anchor"],
    ["version: !!int 1", 1, 16, "tag"],
    ["version: 1\nfs:\n\tdeny: []", 3, 1, "not YAML: Tabs"],
    ["version: 1\nfs: { deny: [", 2, 14, "not YAML"],
  ])("%j", async (text, line, column, message) => {
    const { value, faults } = await read(text);
    expect(value).toBeNull();
    expect(faults[0]?.message).toContain(message);
    expect(faults[0]).toMatchObject({ file: "p.yaml", line, column });
  });

  test.each([
    ["{", 1, "not JSON"],
    ['{\n  "version": 1,\n}', 3, "not JSON"],
    ["version: 1", 1, "not JSON"],
    ['{"version":1,\n"version":1}', 2, "is there twice"],
    ['{"version":1,\n"fs":{"tmp":{"size_mb":NaN}}}', 2, "not JSON"],
  ])("JSON %j", async (text, line, message) => {
    const { faults } = await read(text, "p.JSON");
    expect(faults[0]).toMatchObject({ line, message: expect.stringContaining(message) });
  });
});

test.each([
  ["agentkernel.toml", "project"],
  ["~/.config/agentkernel/config.toml: all of the above, and", "user"],
  ["strict.policy.yaml", "policy"],
] as const)("the example %s in the documentation is valid", async (title, kind) => {
  const page = readFileSync("docs/configuration.md", "utf8");
  const start = page.indexOf(`# ${title}\n`);
  expect(start).toBeGreaterThan(0);
  const file = { name: title, bytes: Buffer.from(page.slice(start, page.indexOf("```", start))) };
  const { faults } = kind === "policy" ? await readPolicyFile(file, "/p") : await readConfigFile(file, kind);
  expect(faults).toEqual([]);
});
