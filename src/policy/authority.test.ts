import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isAgentKernelError } from "../core/errors.js";
import { compatibilityModes, type NetworkRule, profileNames } from "../core/policy.js";
import { type AuthorityOrigin, mayWiden, rankByOrigin } from "./authority.js";
import type { FieldPath, PolicyFields } from "./fields.js";
import { fieldsOf } from "./fields-of.js";
import type { Choice, PolicyInputs, PolicyLayer } from "./layers.js";
import { type ResolvedPolicy, resolve } from "./resolve.js";
import { fieldSamples, sampledFields } from "./testing/field-samples.js";
import { bounds, widerFields } from "./wider.js";

const origins = Object.keys(rankByOrigin) as AuthorityOrigin[];
const isUsers = (origin: AuthorityOrigin) => mayWiden({ origin, name: "" });
const others = origins.filter((origin) => !isUsers(origin));

/** Fields whose entries take something away: no layer adds to what is allowed, whoever asks. */
const neverWidened = new Set<FieldPath>(
  sampledFields.filter(
    (field) =>
      field.endsWith(".deny") ||
      field.endsWith(".protect") ||
      field.endsWith(".review") ||
      field.endsWith("commands.allow"),
  ),
);

function layersOf(
  field: FieldPath,
  origin: AuthorityOrigin,
): { readonly user: PolicyInputs; readonly all: PolicyInputs } {
  const { less, more } = fieldSamples[field as keyof typeof fieldSamples];
  const userWide: PolicyLayer[] = [
    { origin: "config.toml:1", fields: { "net.egress": "allowlist" } },
    { origin: "config.toml:2", fields: { [field]: less } as PolicyFields },
  ];
  const project: PolicyLayer[] = [{ origin: "theirs:3", fields: { [field]: more } as PolicyFields }];
  return { user: { userWide }, all: { userWide, project, projectBy: origin } };
}

describe.each(others)("what %s asks for", (origin) => {
  test.each(sampledFields)("never widens %s", (field) => {
    const { user, all } = layersOf(field, origin);
    const [wanted, usual] = [resolve(all), resolve(user)];
    expect(widerFields(wanted.policy, usual.policy)).toEqual([]);
    expect(fieldsOf(wanted.policy)[field]).toEqual(fieldsOf(usual.policy)[field]);
    if (neverWidened.has(field)) return;
    expect(wanted.refused).toMatchObject([{ field, by: [{ origin, name: "theirs:3" }] }]);
    expect(wanted.origins[field]).toBe(usual.origins[field]);
  });
});

describe.each(origins.filter(isUsers))("what %s asks for", (origin) => {
  test.each(sampledFields.filter((field) => !neverWidened.has(field)))("widens %s", (field) => {
    const { user, all } = layersOf(field, origin);
    const wanted = resolve(all);
    expect(widerFields(wanted.policy, resolve(user).policy).map((wider) => wider.field)).toEqual([field]);
    expect(wanted.refused).toEqual([]);
  });
});

const anyFields: fc.Arbitrary<PolicyFields> = fc.record(
  Object.fromEntries(
    sampledFields.map((field) => [field, fc.constantFrom<unknown>(fieldSamples[field].less, fieldSamples[field].more)]),
  ),
  { requiredKeys: [] },
) as fc.Arbitrary<PolicyFields>;
const layers = (origin: string) =>
  fc.array(anyFields, { maxLength: 2 }).map((all): PolicyLayer[] => all.map((fields) => ({ origin, fields })));
const choice = <T extends string>(names: readonly T[], origin: string, by: AuthorityOrigin): fc.Arbitrary<Choice<T>> =>
  fc.constantFrom(...names).map((name) => ({ name, origin, by }));
const servers: readonly NetworkRule[] = [{ domain: "mcp.example", ports: [443] }];
const preset: PolicyLayer = { origin: "config.toml:9", fields: { "net.allow": [{ preset: "mcp-servers" }] } };

interface Parties {
  readonly user: Omit<PolicyInputs, "usual">;
  readonly theirs: Pick<PolicyInputs, "profile" | "mode" | "project" | "projectBy" | "mcpServers">;
}

const parties: fc.Arbitrary<Parties> = fc.record({
  user: fc.record(
    {
      profile: choice(profileNames, "--profile", "flag"),
      mode: choice(compatibilityModes, "--compatibility-mode", "flag"),
      userWide: layers("config.toml:1").map((all) => [...all, preset]),
      policyFile: layers("p.yaml:1"),
      flags: layers("--flag"),
    },
    { requiredKeys: [] },
  ),
  theirs: fc.constantFrom(...others).chain((origin) =>
    fc.record(
      {
        profile: choice(profileNames, "theirs:1", origin),
        mode: choice(compatibilityModes, "theirs:2", origin),
        project: layers("theirs:3"),
        projectBy: fc.constant(origin),
        mcpServers: fc.constant(servers),
      },
      { requiredKeys: ["projectBy"] },
    ),
  ),
});

/** Null where the user's own words contradict each other. */
function resolvedOrNull(inputs: PolicyInputs): ResolvedPolicy | null {
  try {
    return resolve(inputs);
  } catch (error) {
    if (isAgentKernelError(error)) return null;
    throw error;
  }
}

test("no combination of choices, layers and MCP servers of anybody but the user widens any field", () => {
  fc.assert(
    fc.property(parties, ({ user, theirs }) => {
      const mcp = theirs.mcpServers === undefined ? {} : { mcpServers: [] };
      const usual = resolvedOrNull({ ...user, ...mcp });
      // What the project chooses stands in place of the user's choice, as it does where a file is read.
      const wanted = resolvedOrNull({ ...user, ...theirs, usual: user });
      fc.pre(usual !== null && wanted !== null);
      expect(widerFields(wanted.policy, usual.policy)).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test("every field has a bound", () => {
  expect(Object.keys(bounds)).toHaveLength(sampledFields.length + 1);
});
