import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isAgentKernelError } from "../core/errors.js";
import { compatibilityModes, egressModes, type NetworkRule, profileNames, workspaceModes } from "../core/policy.js";
import type { PolicyFields } from "./fields.js";
import type { PolicyInputs, PolicyLayer } from "./layers.js";
import { alwaysDenied, atMost, atMostFields, type Limit, onlyWithin, onlyWorkspaceModes } from "./limits.js";
import { opennessOf } from "./openness.js";
import { profiles } from "./profiles.js";
import { resolve } from "./resolve.js";
import { isRuleWithin } from "./rule-cover.js";

const anyFields: fc.Arbitrary<PolicyFields> = fc.record(
  {
    "fs.workspace.mode": fc.constantFrom(...workspaceModes),
    "net.egress": fc.constantFrom(...egressModes),
    "net.allow": fc.subarray([{ domain: "a.example" }, { domain: "*.b.example" }, { cidr: "10.0.0.0/8" }]),
    "proc.seccomp": fc.constantFrom("default" as const, "strict" as const),
    "resources.memoryMiB": fc.integer({ min: 16, max: 9000 }),
    "resources.timeoutMs": fc.option(fc.integer({ min: 1, max: 9000 })),
  },
  { requiredKeys: [] },
);
const anyLayers = (origin: string) =>
  fc.array(anyFields, { maxLength: 2 }).map((all): PolicyLayer[] => all.map((fields) => ({ origin, fields })));
const anyInputs: fc.Arbitrary<PolicyInputs> = fc.record(
  {
    profile: fc.constantFrom(...profileNames).map((name) => ({ name, origin: "agentkernel.toml:1" })),
    mode: fc.constantFrom(...compatibilityModes).map((name) => ({ name, origin: "agentkernel.toml:2" })),
    userWide: anyLayers("config.toml:1"),
    project: anyLayers("agentkernel.toml:3"),
    policyFile: anyLayers("p.yaml:1"),
  },
  { requiredKeys: [] },
);

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (isAgentKernelError(error)) return error.code;
    throw error;
  }
  return "nothing was refused";
}

describe("limits", () => {
  test("hold whatever files, modes and profiles ask for", () => {
    const limits: Limit[] = [
      atMost("resources.memoryMiB", 512, "limit"),
      atMost("resources.timeoutMs", 1000, "limit"),
      atMost("net.egress", "allowlist", "limit"),
      onlyWorkspaceModes(["copy"], "limit"),
      onlyWithin([{ domain: "*.example" }], "limit"),
      alwaysDenied([{ domain: "never.example" }], "limit"),
      atMost("proc.seccomp", "strict", "limit"),
    ];
    fc.assert(
      fc.property(anyInputs, (inputs) => {
        const { policy } = resolve({ ...inputs, limits });
        expect(policy.resources.memoryMiB).toBeLessThanOrEqual(512);
        expect(policy.resources.timeoutMs).toBeLessThanOrEqual(1000);
        expect(policy.resources.timeoutMs).not.toBeNull();
        expect(policy.net.egress).not.toBe("on");
        expect(["copy", "none"]).toContain(policy.fs.workspace.mode);
        for (const rule of policy.net.allow) expect(isRuleWithin(rule, { domain: "*.example" })).toBe(true);
        expect(policy.net.deny).toContainEqual({ domain: "never.example" });
        expect(policy.proc.seccomp).toBe("strict");
      }),
    );
  });

  test("change nothing that is within them", () => {
    fc.assert(
      fc.property(anyInputs, (inputs) => {
        fc.pre(codeOf(() => resolve(inputs)) === "nothing was refused");
        const wide = [atMost("resources.memoryMiB", 1_048_576, "limit"), atMost("net.egress", "on", "limit")];
        expect(resolve({ ...inputs, limits: wide })).toEqual(resolve(inputs));
      }),
    );
  });

  test("are named as the origin, and say what they held back from whom", () => {
    const project = [{ origin: "agentkernel.toml:3", fields: { "resources.memoryMiB": 4096 } }];
    const { origins, narrowed } = resolve({ project, limits: [atMost("resources.memoryMiB", 512, "the limit")] });
    expect(origins["resources.memoryMiB"]).toBe("the limit");
    expect(narrowed).toEqual([
      { field: "resources.memoryMiB", askedBy: "agentkernel.toml:3", asked: 4096, heldBy: "the limit", held: 512 },
    ]);
  });

  test("refuse a flag that goes beyond them", () => {
    const limits = [atMost("resources.memoryMiB", 512, "limit"), onlyWithin([{ domain: "a.example" }], "limit")];
    const flag = (fields: PolicyFields) => codeOf(() => resolve({ limits, flags: [{ origin: "--flag", fields }] }));
    expect(flag({ "resources.memoryMiB": 513 })).toBe("policy_denied");
    expect(flag({ "resources.memoryMiB": 512 })).toBe("nothing was refused");
    expect(flag({ "net.allow": [{ domain: "b.example" }] })).toBe("policy_denied");
    expect(flag({ "net.allow": [{ domain: "a.example" }] })).toBe("nothing was refused");
    expect(flag({ "net.deny": [{ domain: "b.example" }] })).toBe("nothing was refused");
  });

  test("of workspace modes fall back to the next stricter one, in the end to none", () => {
    const narrow = (modes: Parameters<typeof onlyWorkspaceModes>[0], asked: string) =>
      onlyWorkspaceModes(modes, "limit").narrow(asked);
    expect(narrow(["copy", "sync"], "mount")).toBe("sync");
    expect(narrow(["copy", "mount"], "sync")).toBe("copy");
    expect(narrow(["mount"], "copy")).toBe("none");
    expect(narrow([], "copy")).toBe("none");
    expect(narrow([], "none")).toBe("none");
  });
});

describe("a floor of the profile", () => {
  const floor = { profileFloor: { name: "moderate", origin: "the limit" } } as const;

  test("replaces a looser one that a file names, and refuses one that a flag names", () => {
    const fromFile = resolve({ ...floor, profile: { name: "permissive", origin: "agentkernel.toml:1" } });
    expect(fromFile.policy).toEqual(resolve({}).policy);
    expect(fromFile.origins.profile).toBe("the limit");
    expect(fromFile.narrowed).toMatchObject([{ field: "profile", asked: "permissive", held: "moderate" }]);
    const byFlag = { ...floor, profile: { name: "permissive", origin: "--profile", by: "flag" } } as const;
    expect(codeOf(() => resolve(byFlag))).toBe("policy_denied");
  });

  test("leaves a stricter one", () => {
    const { policy } = resolve({ ...floor, profile: { name: "restrictive", origin: "--profile", by: "flag" } });
    expect(policy.profile).toBe("restrictive");
  });

  test("holds where no profile is named at all", () => {
    const { policy } = resolve({ profileFloor: { name: "restrictive", origin: "the limit" } });
    expect(policy).toMatchObject({ profile: "restrictive", net: { egress: "off" }, fs: { rootReadonly: true } });
  });
});

describe("what the user names on the command line", () => {
  const project = (fields: PolicyFields) => [{ origin: "agentkernel.toml:3", fields }];
  const restrictive = { name: "restrictive", origin: "--profile", by: "flag" } as const;

  test("cannot be loosened by a project's file, and can be made stricter", () => {
    fc.assert(
      fc.property(fc.constantFrom(...profileNames), anyFields, (name, fields) => {
        const profile = { name, origin: "--profile", by: "flag" } as const;
        const inputs = { profile, project: project(fields) };
        fc.pre(codeOf(() => resolve(inputs)) === "nothing was refused");
        const { policy } = resolve(inputs);
        const most = profiles[name];
        expect(opennessOf("net.egress", policy.net.egress)).toBeLessThanOrEqual(
          opennessOf("net.egress", most["net.egress"]),
        );
        expect(opennessOf("fs.workspace.mode", policy.fs.workspace.mode)).toBeLessThanOrEqual(
          opennessOf("fs.workspace.mode", most["fs.workspace.mode"]),
        );
      }),
    );
    const off = resolve({
      profile: { name: "moderate", origin: "--profile", by: "flag" },
      project: project({ "net.egress": "off" }),
    });
    expect(off.policy.net.egress).toBe("off");
  });

  test("can be loosened by a policy file or a flag that the user names too", () => {
    const fields = { "net.egress": "on" } as const;
    expect(resolve({ profile: restrictive, policyFile: project(fields) }).policy.net.egress).toBe("on");
    const flags = [{ origin: "--network", fields }];
    expect(resolve({ profile: restrictive, flags }).policy.net.egress).toBe("on");
  });

  test("a mode's walls are not taken down by the profile of a project", () => {
    const mode = { name: "codex", origin: "--compatibility-mode", by: "flag" } as const;
    const { policy } = resolve({ mode, profile: { name: "permissive", origin: "agentkernel.toml:1" } });
    const alone = resolve({ mode }).policy;
    expect({ ...policy, profile: "moderate" }).toEqual(alone);
    const stricter = resolve({ mode, profile: { name: "restrictive", origin: "agentkernel.toml:1" } }).policy;
    expect(stricter).toMatchObject({ net: { egress: "off" }, fs: { workspace: { mode: "copy", readonly: true } } });
  });
});

test("every field that a profile sets has an order, so that a profile can be a limit", () => {
  for (const fields of Object.values(profiles)) {
    expect(atMostFields(fields, "limit")).toHaveLength(Object.keys(fields).length);
  }
});

test.each([
  [{ domain: "a.example" }, { domain: "a.example" }, true],
  [{ domain: "A.example" }, { domain: "a.example" }, true],
  [{ domain: "a.example", ports: [443] }, { domain: "a.example" }, true],
  [{ domain: "a.example" }, { domain: "a.example", ports: [443] }, false],
  [{ domain: "b.a.example" }, { domain: "*.a.example" }, true],
  [{ domain: "*.b.a.example" }, { domain: "*.a.example" }, true],
  [{ domain: "a.example" }, { domain: "*.a.example" }, false],
  [{ domain: "evil-a.example" }, { domain: "*.a.example" }, false],
  [{ domain: "*.a.example" }, { domain: "b.a.example" }, false],
  [{ cidr: "10.0.0.0/8" }, { domain: "*.a.example" }, false],
  [{ preset: "openai" }, { preset: "openai" }, true],
  [{ preset: "openai" }, { preset: "google" }, false],
])("%j within %j: %s", (rule, outer, expected) => {
  expect(isRuleWithin(rule, outer)).toBe(expected);
});

describe("what can be approved while a sandbox runs", () => {
  const within = (...outer: (readonly NetworkRule[])[]) =>
    resolve({ limits: outer.map((rules) => onlyWithin(rules, "a limit")) }).policy.net.approvable;

  test("is anything where no limit names rules, and else what lies within all that do", () => {
    expect(resolve({}).policy.net).not.toHaveProperty("approvable");
    expect(within([])).toEqual([]);
    expect(within([{ domain: "a.example" }])).toEqual([{ domain: "a.example" }]);
    const [narrow, other] = [{ domain: "a.example.com" }, { domain: "b.example" }];
    expect(within([narrow, other], [{ domain: "*.example.com" }])).toEqual([narrow]);
  });
});
