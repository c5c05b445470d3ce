import { describe, expect, test } from "vitest";
import { type ConfigFile, readConfigFile } from "./config-file.js";
import type { Owner } from "./shapes.js";

const read = async (text: string, owner: Owner = "project") =>
  await readConfigFile({ name: "agentkernel.toml", bytes: Buffer.from(text) }, owner);

async function valid(text: string, owner: Owner = "project"): Promise<ConfigFile> {
  const { value, faults } = await read(text, owner);
  expect(faults).toEqual([]);
  if (value === null) throw new Error("no value and no fault");
  return value;
}

describe("keys that set a field name their line", () => {
  test.each([
    ["[resources]\nvcpus = 1.5", { "resources.vcpus": 1.5 }],
    ["[resources]\nmemory_mb = 512", { "resources.memoryMiB": 512 }],
    ["[resources]\npids = 64", { "resources.pids": 64 }],
    ["[resources]\ndisk_mb = 100", { "resources.diskMiB": 100 }],
    ["[resources]\nopen_files = 99", { "resources.openFiles": 99 }],
    ["[resources]\ntimeout_ms = 30000", { "resources.timeoutMs": 30_000 }],
    ["[security]\nnetwork = false", { "net.egress": "off" }],
    ["[security]\nnetwork = true", { "net.egress": "on" }],
    ["[security]\nmount_cwd = true", { "fs.workspace.mode": "mount" }],
    ["[security]\nmount_cwd = false", { "fs.workspace.mode": "copy" }],
    ["[security]\nseccomp = 'strict'", { "proc.seccomp": "strict" }],
    [
      "[security]\ndomains.allow = ['*.Example.com', 'openai']",
      { "net.egress": "allowlist", "net.allow": [{ domain: "*.example.com" }, { preset: "openai" }] },
    ],
    ["[security]\ndomains.allow = []", { "net.egress": "allowlist", "net.allow": [] }],
    ["[security]\ndomains.deny = ['cloud-apis']", { "net.deny": [{ preset: "cloud-apis" }] }],
    ["[security]\ncommands.allow = ['npm']", { "proc.commands.allow": ["npm"] }],
    ["[security]\ncommands.deny = ['curl']", { "proc.commands.deny": ["curl"] }],
  ])("%s", async (text, fields) => {
    expect((await valid(text)).layers).toEqual([{ origin: "agentkernel.toml:2", fields }]);
  });

  test("a list of domains beside network = true is an allowlist, beside network = false it opens nothing", async () => {
    const list = "domains.allow = ['a.example']";
    const [open] = (await valid(`[security]\nnetwork = true\n${list}`)).layers;
    expect(open?.fields).toMatchObject({ "net.egress": "allowlist" });
    const shut = (await valid(`[security]\nnetwork = false\n${list}`)).layers;
    expect(shut).toEqual([{ origin: "agentkernel.toml:2", fields: { "net.egress": "off" } }]);
  });
});

describe("choices", () => {
  test("profile, mode, backend and image, each with its line", async () => {
    const file = await valid(
      "[security]\nprofile = 'restrictive'\n[agent]\ncompatibility_mode = 'codex'\n[sandbox]\nbackend = 'linux'\nbase_image = 'python:3.12'",
    );
    expect(file).toMatchObject({
      profile: { name: "restrictive", origin: "agentkernel.toml:2" },
      mode: { name: "codex", origin: "agentkernel.toml:4" },
      backend: { name: "linux", origin: "agentkernel.toml:6" },
      image: { reference: "python:3.12", origin: "agentkernel.toml:7" },
    });
  });

  test.each([
    ["claude", "claude"],
    ["codex", "codex"],
    ["gemini", "gemini"],
    ["opencode", "native"],
  ])("the preferred agent %s stands for the mode %s", async (agent, mode) => {
    const file = await valid(`[agent]\npreferred = '${agent}'`);
    expect(file).toMatchObject({ mode: null, preferredMode: { name: mode, origin: "agentkernel.toml:2" } });
  });

  test("a runtime is the image of its language", async () => {
    const { image } = await valid("sandbox.runtime = 'python'");
    expect(image).toEqual({ reference: "python:3.12-alpine", origin: "agentkernel.toml:1" });
  });
});

test("what has no effect yet is known, and says what it is about", async () => {
  const text =
    "[sandbox]\nname = 'a'\n[network]\nports = ['8080:80', '127.0.0.1:1:2']\nvsock_cid = 3\n[images]\nlock = 'agentkernel.lock'";
  const { withoutEffect } = await valid(text);
  expect(withoutEffect).toEqual([
    { text: "agentkernel.toml:2: sandbox.name", concerns: "create" },
    { text: "agentkernel.toml:4: network.ports", concerns: "run" },
    { text: "agentkernel.toml:5: network.vsock_cid", concerns: "run" },
    { text: "agentkernel.toml:7: images.lock", concerns: "images" },
  ]);
});

describe("what belongs to the user alone", () => {
  const sections = [
    "[audit]\nenabled = false",
    "[audit]\npath = '/tmp/a'",
    "[audit]\nmax_mb = 1",
    "[audit]\nkeep = 1",
    "[api]\nhost = '0.0.0.0'",
    "[api]\nport = 1",
    "[images.mirrors]\n'docker.io' = ['mirror.example:5000']",
    "[images]\ndisk_ceiling_mb = 1",
    "[limits]\nmemory_mb = 64",
  ];

  test.each(sections)("%s is refused in a project", async (text) => {
    const { faults } = await read(text, "project");
    expect(faults).toMatchObject([{ message: expect.stringContaining("only be set in the user-wide") }]);
  });

  test.each(sections)("%s is taken from the user", async (text) => {
    await valid(text, "user");
  });

  test("values of the image store and the audit log are handed on", async () => {
    const { images, audit } = await valid(
      sections
        .slice(5, 8)
        .concat(sections[0] ?? "")
        .filter((one) => one.startsWith("[images.m") || one.startsWith("[audit]"))
        .join("\n"),
      "user",
    );
    expect(images.mirrors?.get("docker.io")).toEqual(["mirror.example:5000"]);
    expect(audit).toEqual({ enabled: false });
  });
});

describe("a fault names file, line, column and what was likely meant", () => {
  test.each<[string, number, number, string, string]>([
    ["[resorces]\n", 1, 2, 'there is no key "resorces"', "resources"],
    ["\n[resources]\nmemroy_mb = 1", 3, 1, 'no key "memroy_mb" in resources', "memory_mb"],
    ["[resources]\nvcpus = 'two'", 2, 9, "resources.vcpus is a text, not a number from 0.1 to 256", "takes"],
    ["[resources]\nvcpus = 0", 2, 9, "resources.vcpus is 0, not a number", "0.1 to 256"],
    ["[resources]\nvcpus = nan", 2, 9, "resources.vcpus is NaN", "0.1 to 256"],
    ["[resources]\nvcpus = inf", 2, 9, "resources.vcpus is Infinity", "0.1 to 256"],
    ["[resources]\npids = 1.5", 2, 8, "resources.pids is 1.5, not a whole number", "1 to 32768"],
    ["[resources]\npids = 99999999999999999999", 2, 8, "resources.pids is", "1 to 32768"],
    ["[resources]\npids = 2024-01-01", 2, 8, "resources.pids is a text", "1 to 32768"],
    ["resources = 5", 1, 13, "resources is a number, not a table", "table"],
    ["[security]\nnetwork = 'off'", 2, 11, "security.network is a text, not true or false", "true or false"],
    ["[security]\nprofile = 'restricted'", 2, 11, 'security.profile: "restricted" is not one of', "restrictive"],
    ["[security]\ndomains.allow = 'a.example'", 2, 17, "security.domains.allow is a text, not a list", "list"],
    ["[security]\ndomains.allow = ['*']", 2, 18, 'security.domains.allow[0]: "*" is not a domain', "takes"],
    ["[security]\ndomains.deny = ['cloud-api']", 2, 17, '"cloud-api" is not a domain', "cloud-apis"],
    ["[security]\ncommands.deny = ['/bin/sh']", 2, 18, "without a path", "takes"],
    ["[sandbox]\nruntime = 'pyton'", 2, 11, "sandbox.runtime", "python"],
    ["[sandbox]\nbase_image = '-rf'", 2, 14, "does not look like a reference", "takes"],
    ["[sandbox]\nbase_image = 'a'\nruntime = 'go'", 3, 1, "both choose the image", "leave one"],
    ["[sandbox]\nname = '../x'", 2, 8, "sandbox.name", "takes"],
    ["[network]\nports = ['80:99999']", 2, 10, "network.ports[0]", "takes"],
    ["[network]\nvsock_cid = 2", 2, 13, "network.vsock_cid is 2", "3 to"],
    ["[daemon]\nmin_warm = 5\nmax_warm = 3", 2, 1, "daemon.min_warm is 5, more than max_warm", "max_warm"],
    ["[daemon.agents.'a b']\nmin_warm = 1", 1, 2, "is not a name of an agent", ""],
    ["[daemon.agents.claude]\nmin_warm = 2\nmax_warm = 1", 2, 1, "daemon.agents.claude.min_warm is 2", ""],
    ["__proto__ = 1", 1, 1, 'there is no key "__proto__"', "sandbox"],
    ["[sandbox]\nconstructor = 1", 2, 1, 'there is no key "constructor" in sandbox', "name"],
    ["a = 1\na = 2", 2, 1, "not TOML: Defining a key multiple times", ""],
    ["[a\n", 2, 1, "not TOML", ""],
    ["a = [[[\n", 2, 1, "not TOML", ""],
  ])("%j", async (text, line, column, message, hint) => {
    const { value, faults } = await read(text);
    const [first] = faults;
    expect(value).toBeNull();
    expect(first).toMatchObject({ file: "agentkernel.toml", line, column });
    expect(first?.message).toContain(message);
    expect(first?.hint ?? "").toContain(hint);
  });

  test("all of them, not only the first", async () => {
    const { faults } = await read("[resources]\nvcpus = 0\nmemory_mb = 0\n[sandbx]\n");
    expect(faults.map(({ line }) => line)).toEqual([2, 3, 4]);
  });
});
