import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { backendNames } from "../../core/backend.js";
import { isAgentKernelError } from "../../core/errors.js";
import { compatibilityModes, egressModes, profileNames, workspaceModes } from "../../core/policy.js";
import { fieldsOf } from "../../policy/fields-of.js";
import { isRuleWithin } from "../../policy/rule-cover.js";
import type { RunRequest } from "../../runtime/run-request.js";
import { resourceNumbers } from "../../settings/index.js";
import { type Caller, localUser, noQuotas } from "../auth/caller.js";
import {
  ceilingJson,
  ceilingNumbers,
  isImageWithin,
  type KeyCeiling,
  readCeiling,
  smallCeiling,
} from "../auth/key-ceiling.js";
import { byResourceKey } from "../operations/fields.js";
import { folderWithin, keyRules, timeWithin } from "./key-limits.js";
import { type PolicyBody, prepare } from "./prepare.js";

const own = { env: { AGENTKERNEL_PULL: "never" }, homeDir: "/nonexistent" };

function callerWith(ceiling: KeyCeiling | null): Caller {
  return { id: "key:a", scopes: ["run"], isTrusted: false, sandboxes: null, quotas: noQuotas, ceiling };
}

const ask = (body: PolicyBody, ceiling: KeyCeiling | null = smallCeiling): Promise<RunRequest> =>
  prepare(["true"], body, { caller: callerWith(ceiling), own });

const resources = fc.record(
  byResourceKey(({ setting: { min, max, keyCeiling } }) => fc.constantFrom(min, keyCeiling, keyCeiling + 1, max)),
  { requiredKeys: [] },
);
const fullBodies: fc.Arbitrary<PolicyBody> = fc.record(
  {
    profile: fc.constantFrom(...profileNames),
    compatibility_mode: fc.constantFrom(...compatibilityModes),
    network: fc.oneof(
      fc.boolean(),
      fc.constantFrom(...egressModes),
      fc.record({ allowed_domains: fc.constantFrom(["a.example"], ["b.a.example", "evil.example"], ["*.a.example"]) }),
    ),
    resources,
    workspace: fc.constantFrom(...workspaceModes),
    backend: fc.constantFrom("auto", "linux", "wasm"),
    image: fc.constantFrom("host", "python:3.12", "python:3.13", "ghcr.io/acme/app"),
    user: fc.constantFrom("0", "1000"),
    timeout_ms: fc.constantFrom(1, 3_600_000, 3_600_001, 86_400_000),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<PolicyBody>;
/** Of few fields each, or hardly one would be given. */
const bodies = fullBodies.chain((body) =>
  fc.subarray(Object.entries(body), { maxLength: 2 }).map((entries): PolicyBody => Object.fromEntries(entries)),
);
const ceilings: fc.Arbitrary<KeyCeiling> = fc.record({
  ...ceilingNumbers(({ setting: { min, max, keyCeiling } }) => fc.constantFrom(min, keyCeiling, max)),
  network: fc.constantFrom(...egressModes),
  domains: fc.constantFrom<string[]>([], ["a.example"], ["*.a.example"]),
  images: fc.constantFrom(null, ["host"], ["python:3.12"], ["python", "ghcr.io/acme/*"]),
  backends: fc.constantFrom(null, ["linux" as const], ["gvisor" as const]),
  dirs: fc.constant([]),
  ports: fc.constant([]),
});

describe("a request of a key", () => {
  test("never gets more than the key may, in any field, and mostly gets something", async () => {
    let given = 0;
    await fc.assert(
      fc.asyncProperty(bodies, ceilings, async (body, ceiling) => {
        let request: RunRequest;
        try {
          request = await ask(body, ceiling);
        } catch (error) {
          if (!isAgentKernelError(error)) throw error;
          expect(["policy_denied", "forbidden", "invalid_argument"]).toContain(error.code);
          return;
        }
        given++;
        const { policy, backend, image } = request;
        const values = fieldsOf(policy);
        for (const { path, name } of resourceNumbers) expect(values[path]).toBeLessThanOrEqual(ceiling[name]);
        const order = ["off", "allowlist", "on"];
        expect(order.indexOf(policy.net.egress)).toBeLessThanOrEqual(order.indexOf(ceiling.network));
        if (ceiling.network !== "on") {
          const outer = ceiling.domains.map((domain) => ({ domain }));
          for (const rule of policy.net.allow) expect(outer.some((one) => isRuleWithin(rule, one))).toBe(true);
        }
        expect([policy.fs.workspace.mode, policy.fs.home, policy.fs.mounts]).toEqual(["none", "none", []]);
        expect(policy.proc.passHostEnv).toBe(false);
        if (ceiling.backends !== null) expect(ceiling.backends).toContain(backend.name);
        if (ceiling.images !== null && request.module === null) {
          expect(isImageWithin(image.name, ceiling.images)).toBe(true);
          expect(image.named).toBe(true);
        }
      }),
      { numRuns: 150 },
    );
    expect(given).toBeGreaterThan(10);
  });

  test.each<[PolicyBody, RegExp, string]>([
    ...resourceNumbers.map(({ path, setting: { key, max, flag } }): [PolicyBody, RegExp, string] => [
      { resources: { [key]: max } },
      new RegExp(`${path} ${max} is more than this key's ceiling`),
      `--${flag}`,
    ]),
    [{ network: true }, /net.egress "on" is more/, "--network on"],
    [{ network: { allowed_domains: ["evil.example"] } }, /net.egress "allowlist" is more/, "--network on"],
    [{ backend: "linux" }, /backend: linux may isolate less than auto/, "--backend linux"],
    [{ dir: "/tmp" }, /dir: this caller may not name this folder/, "--dir"],
  ])("%j is refused by name, with what the user would have to give", async (body, message, option) => {
    await expect(ask(body)).rejects.toMatchObject({
      message: expect.stringMatching(message),
      hint: expect.stringContaining(`agentkernel keys create ${option}`),
    });
  });

  test("that says nothing gets what the key has: the domains of an allowlist, the only backend", async () => {
    const ceiling: KeyCeiling = { ...smallCeiling, network: "allowlist", domains: ["a.example"], backends: ["gvisor"] };
    const { policy, backend } = await ask({}, ceiling);
    expect(policy.net).toMatchObject({ egress: "allowlist", allow: [{ domain: "a.example" }] });
    expect(backend.name).toBe("gvisor");
    expect((await ask({ network: { allowed_domains: [] } }, ceiling)).policy.net.allow).toEqual([]);
    expect((await ask({})).policy.net.egress).toBe("off");
    await expect(ask({ network: { allowed_domains: ["evil.example"] } }, ceiling)).rejects.toThrow(/evil\.example/);
  });

  test("of a directory gets a copy, with all that is hidden, whatever the user shows to themselves", async () => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "agentkernel-key-")));
    for (const name of ["config/agentkernel", "project"]) mkdirSync(join(root, name), { recursive: true });
    writeFileSync(join(root, "config/agentkernel/config.toml"), "[files]\nshow = ['certs/dev.key']\n");
    const here = { env: { ...own.env, XDG_CONFIG_HOME: join(root, "config") }, homeDir: "/nonexistent" };
    const body: PolicyBody = { dir: join(root, "project"), profile: "permissive" };
    const ceiling = { ...smallCeiling, dirs: [root] };
    const shown = async (caller: Caller) => (await prepare(["true"], body, { caller, own: here })).policy.fs;
    expect((await shown(localUser)).deny).toContainEqual({ glob: "certs/dev.key", shows: true });
    const fs = await shown(callerWith(ceiling));
    expect(fs.deny.filter(({ shows }) => shows)).toEqual([]);
    expect([fs.workspace.mode, fs.home]).toEqual(["copy", "none"]);
  });

  test("without a ceiling on record has the small one", async () => {
    await expect(ask({ network: true }, null)).rejects.toThrow(/this key's ceiling/);
  });

  test("has a rule for each field that a body can have", () => {
    expect(Object.keys(keyRules)).toEqual(expect.arrayContaining(["image", "backend", "dir", "resources", "network"]));
  });
});

test("time of a command: what is asked for is refused beyond the key's, what is usual is cut to it", () => {
  const key = callerWith({ ...smallCeiling, timeoutMs: 1000 });
  expect(() => timeWithin(key, { asked: 1001, own: null, usual: null })).toThrow(/timeout_ms: 1001 is more/);
  expect(timeWithin(key, { asked: 900, own: null, usual: 30_000 })).toBe(900);
  expect(timeWithin(key, { asked: undefined, own: null, usual: null })).toBe(1000);
  expect(timeWithin(key, { asked: undefined, own: 500, usual: 30_000 })).toBe(500);
  const user = { ...key, isTrusted: true };
  expect(timeWithin(user, { asked: undefined, own: null, usual: null })).toBeNull();
  expect(timeWithin(user, { asked: 5000, own: 2000, usual: null })).toBe(2000);
});

test("a directory of the key's, and those below it, by their real places", () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "agentkernel-key-")));
  for (const name of ["mine/sub", "mine-too"]) mkdirSync(join(root, name), { recursive: true });
  symlinkSync(join(root, "mine-too"), join(root, "mine/out"));
  symlinkSync(join(root, "mine"), join(root, "in"));
  const ceiling = { ...smallCeiling, dirs: [join(root, "mine")] };
  for (const path of ["mine", "mine/sub", "in/sub", "mine-too/../mine"])
    expect(folderWithin(ceiling, join(root, path))).toMatch(/mine(\/sub)?$/);
  for (const path of ["mine-too", "mine/out", "mine/../mine-too", ".", "nowhere"])
    expect(() => folderWithin(ceiling, join(root, path))).toThrow(/may not name this folder/);
  expect(() => folderWithin(ceiling, join(root, "mine/nowhere"))).toThrow(/does not exist/);
});

describe("images of a key", () => {
  test.each([
    ["python:3.12", ["python:3.12"], true],
    ["docker.io/library/python:3.12", ["python:3.12"], true],
    ["python:3.13", ["python:3.12"], false],
    [`python:3.12@sha256:${"a".repeat(64)}`, ["python:3.12"], false],
    ["python:3.13", ["python"], true],
    ["pythons:3.13", ["python"], false],
    ["evil/python", ["python"], false],
    ["ghcr.io/acme/a/b:1", ["ghcr.io/acme/*"], true],
    ["ghcr.io/acmes/a", ["ghcr.io/acme/*"], false],
    ["ghcr.io.evil.example/acme/a", ["ghcr.io/*"], false],
    ["acme/a", ["acme/*"], true],
    ["host", ["python"], false],
    ["host", ["host"], true],
  ])("%s under %j: %s", (image, patterns, expected) => {
    expect(isImageWithin(image, patterns)).toBe(expected);
  });
});

describe("a ceiling in a file or a token", () => {
  test("is read as it was written", () => {
    const ceiling: KeyCeiling = {
      ...smallCeiling,
      network: "allowlist",
      domains: ["*.a.example"],
      images: ["python", "ghcr.io/acme/*"],
      backends: [...backendNames],
      dirs: ["/srv/project"],
      ports: ["80", "3000-3999"],
    };
    expect(readCeiling(JSON.parse(JSON.stringify(ceilingJson(ceiling))))).toEqual(ceiling);
    expect(readCeiling({})).toEqual(smallCeiling);
  });

  test.each([
    null,
    [],
    "on",
    { memory: 1 },
    { memory_mb: "1024" },
    { memory_mb: 1e9 },
    { pids: 1.5 },
    { network: "everything" },
    { allowed_domains: ["*"] },
    { images: ["-x"] },
    { backends: ["host"] },
    { dirs: ["relative"] },
    { ports: ["0"] },
    { ports: ["2-1"] },
    { ports: ["65536"] },
    { ports: [80] },
  ])("%j is none", (value) => {
    expect(readCeiling(value)).toBeNull();
  });
});
