import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isAgentKernelError } from "../core/errors.js";
import { compatibilityModes, egressModes, type NetworkRule, profileNames, workspaceModes } from "../core/policy.js";
import { type FieldPath, fieldPaths, type PolicyFields } from "./fields.js";
import type { PolicyInputs, PolicyLayer } from "./layers.js";
import { type NetworkChoice, ruleKey, stricterNetwork } from "./network-rules.js";
import { resolve } from "./resolve.js";

function errorOf(action: () => unknown): { code: string; message: string; hint: string | undefined } {
  try {
    action();
  } catch (error) {
    if (isAgentKernelError(error)) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const rules: readonly NetworkRule[] = [
  { domain: "a.example" },
  { domain: "*.b.example", ports: [443] },
  { cidr: "10.1.0.0/16" },
  { preset: "openai" },
];
const anyRules = fc.subarray([...rules]);
const anyFields: fc.Arbitrary<PolicyFields> = fc.record(
  {
    "fs.workspace.mode": fc.constantFrom(...workspaceModes.filter((mode) => mode !== "sync")),
    "fs.rootReadonly": fc.boolean(),
    "fs.tmpMiB": fc.integer({ min: 1, max: 1024 }),
    "fs.protect": fc.subarray(["**/a", "b/c", "**/d*"]),
    "net.egress": fc.constantFrom(...egressModes),
    "net.allow": anyRules,
    "net.deny": anyRules,
    "proc.passHostEnv": fc.boolean(),
    "proc.env": fc.dictionary(
      fc.constantFrom("A", "B", "C"),
      fc.string().filter((text) => !text.includes("\0")),
    ),
    "resources.vcpus": fc.double({ min: 0.1, max: 256, noNaN: true }),
    "resources.timeoutMs": fc.option(fc.integer({ min: 1, max: 100_000 })),
  },
  { requiredKeys: [] },
);
const layers = (rank: string) =>
  fc
    .array(anyFields, { maxLength: 2 })
    .map((all): PolicyLayer[] => all.map((fields, index) => ({ origin: `${rank} ${index}`, fields })));
const anyInputs: fc.Arbitrary<PolicyInputs> = fc.record(
  {
    profile: fc.constantFrom(...profileNames).map((name) => ({ name, origin: "--profile", by: "flag" })),
    mode: fc
      .constantFrom(...compatibilityModes.filter((mode) => mode === "native" || mode === "claude"))
      .map((name) => ({
        name,
        origin: "--compatibility-mode",
        by: "flag",
      })),
    userWide: layers("user-wide"),
    project: layers("project"),
    policyFile: layers("policy file"),
  },
  { requiredKeys: [] },
);

function isFrozenThroughout(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isFrozenThroughout);
}

describe("resolve", () => {
  test("is deterministic, whole and frozen at every depth", () => {
    fc.assert(
      fc.property(anyInputs, (inputs) => {
        const resolved = resolve(inputs);
        expect(resolve(inputs)).toEqual(resolved);
        expect(isFrozenThroughout(resolved)).toBe(true);
        expect(Object.keys(resolved.origins).sort()).toEqual([...fieldPaths, "mode", "profile"].sort());
      }),
    );
  });

  test("lets flags win over every other layer, and names the flag", () => {
    fc.assert(
      fc.property(anyInputs, fc.boolean(), fc.integer({ min: 1, max: 9 }), (inputs, off, tmpMiB) => {
        const flags: PolicyLayer[] = [
          { origin: "--network", fields: { "net.egress": off ? "off" : "on" } },
          { origin: "--tmp", fields: { "fs.tmpMiB": tmpMiB } },
        ];
        const { policy, origins } = resolve({ ...inputs, flags });
        expect([policy.net.egress, policy.fs.tmpMiB]).toEqual([off ? "off" : "on", tmpMiB]);
        expect([origins["net.egress"], origins["fs.tmpMiB"]]).toEqual(["--network", "--tmp"]);
      }),
    );
  });

  test("counts user-wide under the profile, the profile under the mode, then project, policy file, flags", () => {
    const set = (origin: string, pids: number): PolicyLayer[] => [{ origin, fields: { "resources.pids": pids } }];
    const all = {
      userWide: [{ origin: "user-wide", fields: { "resources.pids": 1, "net.egress": "allowlist" } as const }],
      project: set("project", 2),
      projectBy: "answer" as const,
      policyFile: set("policy file", 3),
      flags: set("--pids", 4),
    };
    const winner = (inputs: PolicyInputs) => resolve(inputs).origins["resources.pids"];
    expect(winner({})).toBe("default");
    expect(winner({ userWide: all.userWide })).toBe("user-wide");
    expect(winner({ userWide: all.userWide, project: all.project, projectBy: all.projectBy })).toBe("project");
    expect(winner({ ...all, flags: [] })).toBe("policy file");
    expect(winner(all)).toBe("--pids");

    const network = (inputs: PolicyInputs) => resolve({ userWide: all.userWide, ...inputs }).origins["net.egress"];
    expect(network({})).toBe("user-wide");
    expect(network({ profile: { name: "moderate", origin: "--profile", by: "flag" } })).toBe("profile moderate");
    expect(network({ mode: { name: "claude", origin: "--compatibility-mode", by: "flag" } })).toBe("mode claude");
  });

  test("adds to lists and never takes away from what is hidden, protected or denied", () => {
    fc.assert(
      fc.property(anyInputs, (inputs) => {
        const base = resolve({}).policy;
        const { policy } = resolve(inputs);
        expect(policy.fs.deny).toEqual(expect.arrayContaining([...base.fs.deny]));
        expect(policy.fs.protect).toEqual(expect.arrayContaining([...base.fs.protect]));
        const denied = [inputs.userWide, inputs.project, inputs.policyFile].flatMap((all) =>
          (all ?? []).flatMap(({ fields }) => fields["net.deny"] ?? []),
        );
        expect(new Set(policy.net.deny.map(ruleKey))).toEqual(new Set(denied.map(ruleKey)));
      }),
    );
  });

  test("adds a flag's domains to the mode's own", () => {
    const flags = [{ origin: "--allow-domain", fields: { "net.egress": "allowlist", "net.allow": [rules[0]] } }];
    const inputs = { mode: { name: "gemini", origin: "--compatibility-mode", by: "flag" }, flags } as PolicyInputs;
    const { policy, origins } = resolve(inputs);
    expect(policy.net.allow).toEqual([{ domain: "*.googleapis.com" }, { preset: "package-registries" }, rules[0]]);
    expect(origins["net.allow"]).toBe("mode gemini, --allow-domain");
  });

  test("allows nothing where the network is off, whatever was allowed before", () => {
    const flags: PolicyLayer[] = [{ origin: "--no-network", fields: { "net.egress": "off" } }];
    const { policy, origins } = resolve({ mode: { name: "claude", origin: "-" }, flags });
    expect(policy.net).toEqual({ egress: "off", allow: [], deny: [], secrets: [] });
    expect(origins["net.allow"]).toBe("--no-network");
  });

  test("refuses keys that do not exist, with the nearest that does", () => {
    const layer = { origin: "project", fields: { "resources.memoryMib": 5 } } as unknown as PolicyLayer;
    const error = errorOf(() => resolve({ project: [layer] }));
    expect(error).toMatchObject({ code: "invalid_policy", hint: "did you mean resources.memoryMiB?" });
    fc.assert(
      fc.property(fc.string(), (key) => {
        fc.pre(!(fieldPaths as readonly string[]).includes(key));
        const fields = Object.fromEntries([[key, 1]]) as PolicyFields;
        expect(errorOf(() => resolve({ project: [{ origin: "project", fields }] })).code).toBe("invalid_policy");
      }),
    );
  });

  test.each<[FieldPath, unknown]>([
    ["fs.workspace.mode", "live"],
    ["fs.rootReadonly", "yes"],
    ["fs.tmpMiB", 0],
    ["fs.deny", [{ glob: "**/*.{pem,key}" }]],
    ["fs.deny", [{ glob: "**/a", holds: "anything" }]],
    ["fs.deny", [{ glob: "**/a", shows: false }]],
    ["fs.deny", [{ glob: "**/a", reason: "" }]],
    ["fs.protect", ["/abs"]],
    ["fs.mounts", [{ host: "relative", guest: "/a", readonly: true }]],
    ["fs.mounts", [{ host: "/a", guest: "/proc/sys", readonly: true }]],
    ["net.allow", [{ domain: "*" }]],
    ["net.allow", [{ domain: "a.example", cidr: "10.0.0.0/8" }]],
    ["net.allow", [{ preset: "everything" }]],
    ["net.allow", [{ cidr: "10.0.0.256/8" }]],
    ["net.allow", [{ domain: "a.example", ports: [0] }]],
    ["proc.user", "a b"],
    ["proc.env", { "A-B": "x" }],
    ["proc.env", { A: 1 }],
    ["resources.vcpus", Number.NaN],
    ["resources.pids", 1.5],
    ["resources.timeoutMs", -1],
  ])("refuses %s = %j", (field, value) => {
    const layer = { origin: "sandbox.policy.yaml", fields: { [field]: value } } as PolicyLayer;
    const error = errorOf(() => resolve({ policyFile: [layer] }));
    expect(error.code).toBe("invalid_policy");
    expect(error.message).toContain("sandbox.policy.yaml");
    expect(error.message).toContain(field);
  });
});

describe("impossible combinations", () => {
  const restrictive = { name: "restrictive", origin: "--profile", by: "flag" } as const;
  const flag = (origin: string, fields: PolicyFields): PolicyInputs => ({
    profile: restrictive,
    flags: [{ origin, fields }],
  });

  test.each(["root", "0", "00", "0:1000", "root:users"])("user %s where nothing may be root", (user) => {
    const error = errorOf(() => resolve(flag("--user", { "proc.user": user })));
    expect(error.code).toBe("invalid_argument");
    expect(error.message).toContain("profile restrictive");
    expect(error.hint).toBeDefined();
  });

  test("another user is fine there", () => {
    expect(resolve(flag("--user", { "proc.user": "1000:0" })).policy.proc.user).toBe("1000:0");
  });

  test("sync of a read-only project has nothing to carry over", () => {
    expect(errorOf(() => resolve(flag("--workspace", { "fs.workspace.mode": "sync" }))).code).toBe("invalid_argument");
  });

  test("mount of a read-only project is the live folder, read-only", () => {
    const { policy } = resolve(flag("--workspace", { "fs.workspace.mode": "mount" }));
    expect(policy.fs.workspace).toEqual({ mode: "mount", readonly: true });
  });

  test("two mounts at one place, or one over the project", () => {
    const mount = { host: "/a", guest: "/deps", readonly: true };
    const twice = flag("--mount", { "fs.mounts": [mount, { ...mount, host: "/b" }] });
    expect(errorOf(() => resolve(twice)).message).toContain("/deps");
    const over = { ...mount, guest: "/workspace" };
    expect(errorOf(() => resolve(flag("--mount", { "fs.mounts": [over] }))).hint).toContain("--workspace none");
    const none = flag("--mount", { "fs.mounts": [over], "fs.workspace.mode": "none" });
    expect(resolve(none).policy.fs.mounts).toEqual([over]);
  });
});

describe("the stricter of two networks", () => {
  const openness = { off: 0, allowlist: 1, on: 2 };
  const anyNetwork = (origin: string): fc.Arbitrary<NetworkChoice> =>
    fc.record({ origin: fc.constant(origin), egress: fc.constantFrom(...egressModes), allow: anyRules });

  test("opens no more than either, and gaining strictness never loses any", () => {
    fc.assert(
      fc.property(anyNetwork("a"), anyNetwork("b"), anyNetwork("c"), (a, b, c) => {
        const both = stricterNetwork(a, b);
        expect(openness[both.egress]).toBe(Math.min(openness[a.egress], openness[b.egress]));
        for (const one of [a, b]) {
          if (one.egress === both.egress) expect(one.allow).toEqual(expect.arrayContaining([...both.allow]));
        }
        expect(openness[stricterNetwork(both, c).egress]).toBeLessThanOrEqual(openness[both.egress]);
      }),
    );
  });

  test("does not depend on which is named first", () => {
    fc.assert(
      fc.property(anyNetwork("a"), anyNetwork("b"), (a, b) => {
        const [one, other] = [stricterNetwork(a, b), stricterNetwork(b, a)];
        expect(one.egress).toBe(other.egress);
        expect(new Set(one.allow.map(ruleKey))).toEqual(new Set(other.allow.map(ruleKey)));
      }),
    );
  });
});
