import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { egressModes, workspaceModes } from "../core/policy.js";
import { byPath, type NumericPath } from "../settings/index.js";
import { type AuthorityOrigin, mayWiden, rankByOrigin } from "./authority.js";
import { defaultFields } from "./defaults.js";
import { type FieldPath, type FieldValues, fieldPaths } from "./fields.js";
import { fieldSamples, sampledFields } from "./testing/field-samples.js";
import { bounds, narrowedTo, widerValues } from "./wider.js";

const open: FieldValues = { ...defaultFields, "net.egress": "allowlist" };
const withField = (field: FieldPath, value: unknown): FieldValues => ({ ...open, [field]: value });
const namesOf = (wanted: FieldValues, usual: FieldValues) => widerValues(wanted, usual).map(({ field }) => field);

const rules = [
  { domain: "a.example" },
  { domain: "*.example" },
  { cidr: "10.0.0.0/8" },
  { preset: "package-registries" },
];
const globs = ["**/a", "**/b", "c/*"];
const bindings = ["x.example", "y.example"].map((host) => ({ name: "KEY", host, header: "x-key" }));
const mounts = [true, false].map((readonly) => ({ host: "/srv", guest: "/deps", readonly }));
const count = fc.integer({ min: 16, max: 20 });
const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);

const anyField: { readonly [K in FieldPath]: fc.Arbitrary<FieldValues[K]> } = {
  "fs.workspace.mode": oneOf(...workspaceModes),
  "fs.workspace.readonly": fc.boolean(),
  "fs.home": oneOf("none", "readonly"),
  "fs.mounts": fc.subarray(mounts, { maxLength: 1 }),
  "fs.rootReadonly": fc.boolean(),
  "fs.deny": fc.subarray(globs.map((glob) => ({ glob }))),
  "fs.show": fc.subarray(globs),
  "fs.protect": fc.subarray(globs),
  "fs.review": fc.subarray(globs),
  "net.egress": oneOf(...egressModes),
  "net.allow": fc.subarray(rules),
  "net.deny": fc.subarray(rules),
  "net.secrets": fc.subarray(bindings, { maxLength: 1 }),
  "proc.user": oneOf(null, "0", "root", "1000", "1001"),
  "proc.noRoot": fc.boolean(),
  "proc.capabilities": oneOf("none", "default"),
  "proc.seccomp": oneOf("strict", "default"),
  "proc.landlock": oneOf("workspace", "default"),
  "proc.passHostEnv": fc.boolean(),
  "proc.env": oneOf({}, { A: "1" }),
  "proc.commands.allow": fc.option(fc.subarray(["ls", "git", "npm"])),
  "proc.commands.deny": fc.subarray(["ls", "git", "npm"]),
  ...(byPath(({ setting }) => (setting.default === null ? fc.option(count) : count)) as {
    readonly [K in NumericPath]: fc.Arbitrary<FieldValues[K]>;
  }),
};
const anyValues = fc.record(anyField) as fc.Arbitrary<FieldValues>;

describe("the comparison of two policies", () => {
  test.each(sampledFields)("sees that %s is wider, and takes the narrower value", (field) => {
    const { less, more } = fieldSamples[field];
    const [narrow, wide] = [withField(field, less), withField(field, more)];
    expect(namesOf(wide, narrow)).toEqual([field]);
    expect(namesOf(narrow, wide)).toEqual([]);
    expect(narrowedTo(wide, narrow)[field]).toEqual(less);
    expect(narrowedTo(narrow, wide)[field]).toEqual(less);
  });

  test("knows every field, and has samples for all but the variables of a command", () => {
    expect(Object.keys(bounds).sort()).toEqual([...fieldPaths].sort());
    expect([...sampledFields, "proc.env"].sort()).toEqual([...fieldPaths].sort());
  });

  test("narrows to something that is wider than neither", () => {
    fc.assert(
      fc.property(anyValues, anyValues, (wanted, usual) => {
        const narrowed = narrowedTo(wanted, usual);
        expect(namesOf(narrowed, usual)).toEqual([]);
        expect(narrowedTo(narrowed, usual)).toEqual(narrowed);
      }),
    );
  });

  test("changes nothing where nothing is wider", () => {
    fc.assert(
      fc.property(anyValues, (values) => {
        expect(namesOf(values, values)).toEqual([]);
        const expected = values["net.egress"] === "off" ? { ...values, "net.allow": [] } : values;
        expect(narrowedTo(values, values)).toEqual(expected);
      }),
    );
  });

  test("gives an allowlist where everything was asked for and the user has one", () => {
    const usual = { ...open, "net.allow": rules };
    expect(narrowedTo({ ...open, "net.egress": "on" }, usual)).toMatchObject({
      "net.egress": "allowlist",
      "net.allow": rules,
    });
  });
});

test("only the user's own words widen", () => {
  const widening = (Object.keys(rankByOrigin) as AuthorityOrigin[]).filter((origin) => mayWiden({ origin, name: "" }));
  expect(widening).toEqual(["default", "flag", "user-file", "named-file", "answer"]);
});
