import { describe, expect, test } from "vitest";
import type { AuthorityOrigin } from "../policy/authority.js";
import type { PolicyInputs } from "../policy/layers.js";
import { type ResolvedPolicy, resolve } from "../policy/resolve.js";
import { combine } from "./combine.js";
import { readConfigFile } from "./config-file.js";
import { readPolicyFile } from "./policy-file.js";

interface Texts {
  readonly user?: string;
  readonly project?: string;
  readonly policy?: string;
}

/** With a project that the user trusts, unless another party vouches for it. */
async function resolved(
  { user, project, policy }: Texts,
  flags: PolicyInputs = {},
  projectBy: AuthorityOrigin = "answer",
): Promise<ResolvedPolicy> {
  const config = async (name: string, text: string | undefined, owner: "user" | "project") =>
    text === undefined ? null : (await readConfigFile({ name, bytes: Buffer.from(text) }, owner)).value;
  const layers =
    policy === undefined ? null : (await readPolicyFile({ name: "p.yaml", bytes: Buffer.from(policy) }, "/p")).value;
  const files = {
    userWide: await config("user.toml", user, "user"),
    project: await config("project.toml", project, "project"),
    policy: layers,
    projectBy,
  };
  return resolve(combine(files, flags));
}

describe("precedence", () => {
  const user = "[resources]\nmemory_mb = 101\nvcpus = 1\npids = 10\ndisk_mb = 10";
  const project = "[resources]\nmemory_mb = 102\nvcpus = 2\npids = 20";
  const policy = "version: 1\nproc: { mem_limit: 103m, cpu_quota: 3 }";
  const flags = { flags: [{ origin: "--memory", fields: { "resources.memoryMiB": 104 } }] };

  test("of values: flags, policy file, project, user-wide, defaults", async () => {
    const { policy: found, origins } = await resolved({ user, project, policy }, flags);
    expect(found.resources).toMatchObject({ memoryMiB: 104, vcpus: 3, pids: 20, diskMiB: 10, openFiles: 4096 });
    expect(origins).toMatchObject({
      "resources.memoryMiB": "--memory",
      "resources.vcpus": "p.yaml:2",
      "resources.pids": "project.toml:4",
      "resources.diskMiB": "user.toml:5",
      "resources.openFiles": "default",
    });
  });

  test("of the network: mode over profile over user-wide, project over mode, policy file over project", async () => {
    const egress = async (texts: Texts, inputs?: PolicyInputs) => (await resolved(texts, inputs)).origins["net.egress"];
    const off = "[security]\nnetwork = false";
    expect(await egress({ user: off })).toBe("user.toml:2");
    expect(await egress({ user: off, project: "security.profile = 'moderate'" })).toBe("profile moderate");
    expect(await egress({ user: off, project: "agent.preferred = 'claude'" })).toBe("mode claude");
    expect(await egress({ user: off, project: `agent.preferred = 'claude'\n${off}` })).toBe("project.toml:3");
    expect(await egress({ project: off, policy: "version: 1\nnet: { egress: true }" })).toBe("p.yaml:2");
  });

  test.each<[string, Texts, PolicyInputs, string, string]>([
    [
      "a flag over all",
      { user: "agent.compatibility_mode = 'codex'", project: "agent.compatibility_mode = 'gemini'" },
      { mode: { name: "claude", origin: "--compatibility-mode", by: "flag" } },
      "claude",
      "--compatibility-mode",
    ],
    [
      "the project over the user",
      { user: "agent.compatibility_mode = 'codex'", project: "agent.compatibility_mode = 'gemini'" },
      {},
      "gemini",
      "project.toml:1",
    ],
    [
      "a named mode over a preferred agent",
      { user: "agent.compatibility_mode = 'codex'", project: "agent.preferred = 'gemini'" },
      {},
      "codex",
      "user.toml:1",
    ],
    [
      "the project's preferred agent",
      { user: "agent.preferred = 'codex'", project: "agent.preferred = 'gemini'" },
      {},
      "gemini",
      "project.toml:1",
    ],
    ["opencode is native", { project: "agent.preferred = 'opencode'" }, {}, "native", "project.toml:1"],
  ])("of modes: %s", async (_name, texts, flags, mode, origin) => {
    const { policy: found, origins } = await resolved(texts, flags);
    expect([found.mode, origins.mode]).toEqual([mode, origin]);
  });

  test("the user's own profile stands beside a mode of a file, and yields to one of a flag", async () => {
    const strict = "security.profile = 'restrictive'";
    const beside = await resolved({ user: strict, project: "agent.preferred = 'claude'" });
    expect(beside.policy).toMatchObject({ profile: "restrictive", mode: "claude", net: { egress: "off" } });
    const under = await resolved(
      { user: strict },
      { mode: { name: "claude", origin: "--compatibility-mode", by: "flag" } },
    );
    expect(under.policy).toMatchObject({ net: { egress: "allowlist" }, fs: { workspace: { mode: "sync" } } });
  });
});

describe("a ceiling", () => {
  const widening = {
    project:
      "[resources]\nvcpus = 99\nmemory_mb = 99999\npids = 9999\ndisk_mb = 99999\nopen_files = 99999\ntimeout_ms = 9999999\n[security]\nprofile = 'permissive'\nmount_cwd = true\ndomains.allow = ['evil.example', 'ok.example']",
    policy:
      "version: 1\nfs: { workspace: { mode: mount } }\nnet: { egress: true, allow: [ { domain: evil.example }, { cidr: 10.0.0.0/8 } ] }\nproc: { cpu_quota: 99, mem_limit: 99g, wall_timeout: 99h, fork_limit: 9999, no_root: false }",
  };
  const limits =
    "[limits]\nvcpus = 1\nmemory_mb = 64\npids = 16\ndisk_mb = 32\nopen_files = 64\ntimeout_ms = 1000\nnetwork = 'allowlist'\nworkspace = ['copy', 'sync']\ndomains.allow = ['ok.example']\ndomains.deny = ['never.example']";

  test.each<[string, Texts]>([
    ["a project's file", { project: widening.project }],
    ["a policy file", { policy: widening.policy }],
    ["both", widening],
    ["nothing", {}],
  ])("holds against %s", async (_name, texts) => {
    const { policy } = await resolved({ user: limits, ...texts });
    expect(policy.resources).toMatchObject({
      vcpus: 1,
      memoryMiB: 64,
      pids: 16,
      diskMiB: 32,
      openFiles: 64,
      timeoutMs: 1000,
    });
    expect(policy.net.egress).toBe("allowlist");
    expect(policy.net.allow).toEqual(texts.project && !texts.policy ? [{ domain: "ok.example" }] : []);
    expect(policy.net.deny).toEqual([{ domain: "never.example" }]);
    expect(["copy", "sync"]).toContain(policy.fs.workspace.mode);
  });

  test("of a profile holds every field that the profile sets, unless a limit of its own says more", async () => {
    const strict = await resolved({ user: "limits.profile = 'restrictive'", ...widening });
    expect(strict.policy).toMatchObject({
      profile: "restrictive",
      net: { egress: "off", allow: [] },
      fs: { workspace: { mode: "copy", readonly: true }, home: "none", rootReadonly: true },
      proc: { noRoot: true, capabilities: "none", seccomp: "strict", landlock: "workspace", passHostEnv: false },
    });
    const claude = { project: "agent.compatibility_mode = 'claude'" };
    const moderate = await resolved({ user: "limits.profile = 'moderate'", ...claude });
    expect(moderate.policy.fs.workspace.mode).toBe("copy");
    const opened = await resolved({ user: "[limits]\nprofile = 'moderate'\nworkspace = ['copy', 'sync']", ...claude });
    expect(opened.policy.fs.workspace.mode).toBe("sync");
  });
});

test("the preset of MCP servers becomes their names", async () => {
  const policy = "version: 1\nnet: { allow: [ { preset: mcp-servers } ], deny: [ { preset: openai } ] }";
  const mcpServers = [{ domain: "mcp.example", ports: [443] }];
  const whole = await resolved({ policy }, { mcpServers, mcpServersBy: "answer" });
  expect(whole.policy.net).toMatchObject({ allow: mcpServers, deny: [{ preset: "openai" }] });
});

describe("a project that nobody vouches for", () => {
  const untrusted = (texts: Texts, flags?: PolicyInputs) => resolved(texts, flags, "project-file");
  const refusedFields = ({ refused }: ResolvedPolicy) => refused.map(({ field }) => field);
  const widening =
    "[resources]\nmemory_mb = 4096\n[security]\nprofile = 'permissive'\nmount_cwd = true\ndomains.allow = ['evil.example']";

  test("gets nothing beyond the defaults, and what it asked for is known with its lines", async () => {
    const found = await untrusted({ project: widening });
    const usual = resolve({}).policy;
    expect(found.policy).toMatchObject({ fs: usual.fs, proc: usual.proc, resources: usual.resources });
    expect(found.policy.net).toMatchObject({ egress: "allowlist", allow: [{ domain: "evil.example" }] });
    expect(found.refused.map(({ field, by }) => [field, by.map(({ name, namedIn }) => namedIn ?? name)])).toEqual([
      ["fs.workspace.mode", ["project.toml:5"]],
      ["fs.home", ["project.toml:4"]],
      ["proc.passHostEnv", ["project.toml:4"]],
      ["resources.memoryMiB", ["project.toml:2"]],
    ]);
  });

  test.each<[string, Texts, PolicyInputs]>([
    [
      "--allow-domain",
      {},
      {
        flags: [
          { origin: "--allow-domain", fields: { "net.egress": "allowlist", "net.allow": [{ domain: "ok.example" }] } },
        ],
      },
    ],
    ["--network allowlist", {}, { flags: [{ origin: "--network", fields: { "net.egress": "allowlist" } }] }],
    ["the hook's own mode", {}, { mode: { name: "claude", origin: "--compatibility-mode", by: "flag" } }],
    ["the user's file", { user: "security.domains.allow = ['ok.example']" }, {}],
    ["a policy file", { policy: "version: 1\nnet: { allow: [ { domain: ok.example } ] }" }, {}],
  ])("adds nothing to the allowlist of %s", async (_name, texts, flags) => {
    const found = await untrusted({ ...texts, project: "security.domains.allow = ['evil.example']" }, flags);
    expect(found.policy.net).toEqual((await untrusted(texts, flags)).policy.net);
    expect(JSON.stringify(found.policy.net.allow)).not.toContain("evil");
  });

  test("makes everything stricter without a question", async () => {
    const project =
      "[resources]\npids = 20\n[security]\nprofile = 'restrictive'\ncommands.allow = ['ls']\ndomains.deny = ['no.example']";
    const found = await untrusted({ project });
    expect(found.refused).toEqual([]);
    expect(found.policy).toEqual((await resolved({ project })).policy);
    expect(found.policy).toMatchObject({ profile: "restrictive", resources: { pids: 20 }, net: { egress: "off" } });
  });

  test("does not fill the user's preset of MCP servers, and the user's answer does", async () => {
    const policy = "version: 1\nnet: { allow: [ { preset: mcp-servers } ] }";
    const mcpServers = [{ domain: "evil.example", ports: [443] }];
    const found = await untrusted({ policy }, { mcpServers });
    expect(found.policy.net.allow).toEqual([]);
    expect(refusedFields(found)).toEqual(["net.allow"]);
    const denying = await untrusted({ policy: policy.replace("allow", "deny") }, { mcpServers });
    expect(denying.policy.net.deny).toEqual(mcpServers);
  });

  test("does not replace the mode that the user has", async () => {
    const user = "agent.compatibility_mode = 'codex'";
    const found = await untrusted({ user, project: "agent.compatibility_mode = 'gemini'" });
    expect(found.policy).toEqual((await untrusted({ user })).policy);
  });

  test("chooses a mode where the user has none, without its ways to write the project", async () => {
    const found = await untrusted({ project: "agent.compatibility_mode = 'claude'" });
    expect(found.policy).toMatchObject({ net: { egress: "allowlist" }, fs: { workspace: { mode: "copy" } } });
    expect(refusedFields(found)).toEqual(["fs.workspace.mode"]);
  });
});
