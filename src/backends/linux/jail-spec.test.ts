import { describe, expect, it } from "vitest";
import { resolve } from "../../policy/resolve.js";
import { bootText, jailSpec, specBasis, takeText } from "./jail-spec.js";

const { policy } = resolve({});
const boot = {
  id: "run-1",
  hostname: "run-1",
  policy,
  image: Object.freeze({ kind: "host" }),
  projectDir: "/p",
  homeDir: null,
} as const;
const paths = { guestBinary: "/g", journalDir: "/j" };

describe("the text of a spec", () => {
  it("says what the spec says, the first time and again", () => {
    const spec = jailSpec(boot, paths);
    expect(spec.hide.length).toBeGreaterThan(10);
    expect(JSON.parse(bootText(boot, paths))).toEqual(spec);
    const next = { ...boot, hostname: "run-2", prescan: 7, trustedCertificate: "PEM" };
    expect(JSON.parse(bootText(next, paths))).toEqual(jailSpec(next, paths));
  });

  it("is remembered for one policy that shows the same, and for nothing else", () => {
    const other = resolve({ flags: [{ origin: "--memory", fields: { "resources.memoryMiB": 77 } }] }).policy;
    const known = specBasis(boot, paths);
    expect(specBasis({ ...boot, hostname: "run-2" }, paths)).toBe(known);
    for (const change of [
      { projectDir: "/q" },
      { homeDir: "/home/me" },
      { image: Object.freeze({ kind: "layers", layers: ["/l"] } as const) },
      { policy: other },
    ]) {
      specBasis(boot, paths);
      const changed = { ...boot, ...change };
      expect(specBasis(changed, paths)).toEqual(specBasis(changed, { ...paths }));
      expect(JSON.parse(bootText(changed, paths))).toEqual(JSON.parse(bootText(changed, { ...paths })));
      expect(JSON.stringify(specBasis(changed, paths)) === JSON.stringify(known)).toBe("homeDir" in change);
    }
    expect(specBasis(boot, { ...paths, journalDir: "/k" }).journal).toBe("/k");
  });

  it("follows a policy that can still change", () => {
    const open = structuredClone(policy);
    const changing = { ...boot, policy: open };
    specBasis(changing, paths);
    Object.assign(open.resources, { memoryMiB: 77 });
    expect(specBasis(changing, paths).limits.memoryMib).toBe(77);
  });

  it("is only what is the caller's own for a jail that was built by the same", () => {
    const own = { hostname: "run-2", trustedCertificate: "PEM" };
    const next = { ...boot, ...own, prescan: 7 };
    const take = { ...own, foreseen: 7, sources: ["/p"] };
    expect(JSON.parse(takeText(next, paths, specBasis(boot, paths)))).toEqual({ take });
    const elsewhere = { ...next, projectDir: "/q" };
    expect(JSON.parse(takeText(elsewhere, paths, specBasis(boot, paths)))).toEqual(jailSpec(elsewhere, paths));
  });

  it("names the look ahead that was made for it, and none otherwise", () => {
    expect(jailSpec({ ...boot, prescan: 7 }, paths)).toMatchObject({ foreseen: 7 });
    expect(jailSpec(boot, paths)).not.toHaveProperty("foreseen");
  });
});
