import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAddress } from "../core/address/address.js";
import type { NetworkRule, NetworkRules } from "../core/policy.js";
import { whyInvalidDomain } from "../policy/network-rules.js";
import { presetDomains } from "../policy/presets.js";
import { Rules } from "./rules.js";

const none = new Set<string>();
const rules = (egress: NetworkRules["egress"], allow: NetworkRule[] = [], deny: NetworkRule[] = []) =>
  new Rules({ egress, allow, deny });
const allows = (judged: Rules, name: string, port: number | null = 443) => judged.judgeName(name, port).allowed;

function address(judged: Rules, text: string, port = 443, byName = false, own = none): string {
  const parsed = parseAddress(text);
  if (parsed === null) throw new Error(text);
  const verdict = judged.judgeAddress(parsed, port, byName, own);
  return `${verdict.allowed ? "yes" : "no"}: ${verdict.rule}`;
}

describe("names under an allowlist", () => {
  const list = rules("allowlist", [{ domain: "example.com" }, { domain: "*.example.org" }]);

  it.each(["example.com", "a.example.org", "a.b.c.example.org"])("%s is allowed", (name) =>
    expect(allows(list, name)).toBe(true),
  );

  it.each([
    "www.example.com",
    "evil-example.com",
    "evilexample.com",
    "example.com.evil.net",
    "example.org",
    "evilexample.org",
    "example.org.evil.net",
    "com",
    "example",
    "xn--exmple-4nf.com",
    "localhost",
  ])("%s is not", (name) => expect(allows(list, name)).toBe(false));

  it("nothing is allowed by an empty list", () => {
    fc.assert(
      fc.property(
        fc.domain(),
        fc.integer({ min: 1, max: 65_535 }),
        (name, port) => !allows(rules("allowlist"), name, port),
      ),
    );
  });

  it("a wildcard matches exactly what ends in its labels", () => {
    fc.assert(
      fc.property(fc.domain(), fc.domain(), (zone, name) => {
        fc.pre(whyInvalidDomain(`*.${zone}`) === null);
        const judged = rules("allowlist", [{ domain: `*.${zone}` }]);
        expect(allows(judged, `${name}.${zone}`)).toBe(true);
        expect(allows(judged, `${name}${zone}`)).toBe(name.endsWith("."));
        expect(allows(judged, zone)).toBe(false);
      }),
    );
  });

  it.each(["*", "**", "*.com", "", "exa*mple.com", "http://example.com"])("%j as a rule is an error", (domain) =>
    expect(() => rules("allowlist", [{ domain }])).toThrow(/net\.allow/),
  );

  it("deny wins, for a name and for all below it", () => {
    const judged = rules(
      "allowlist",
      [{ domain: "*.example.com" }],
      [{ domain: "bad.example.com" }, { domain: "*.bad.example.com" }],
    );
    expect(allows(judged, "good.example.com")).toBe(true);
    expect(allows(judged, "bad.example.com")).toBe(false);
    expect(allows(judged, "x.bad.example.com")).toBe(false);
  });

  it("ports bind both", () => {
    const judged = rules(
      "allowlist",
      [{ domain: "example.com", ports: [443, 8443] }, { domain: "mail.example.com" }],
      [{ domain: "mail.example.com", ports: [25] }],
    );
    expect([443, 8443, 80].map((port) => allows(judged, "example.com", port))).toEqual([true, true, false]);
    expect([25, 993].map((port) => allows(judged, "mail.example.com", port))).toEqual([false, true]);
    expect(allows(judged, "mail.example.com", null)).toBe(true);
  });

  it("what nothing covers can be asked for, what is denied cannot", () => {
    const judged = rules("allowlist", [], [{ domain: "bad.example.com" }]);
    expect(judged.judgeName("other.example", 443)).toMatchObject({ allowed: false, uncovered: true });
    expect(judged.judgeName("bad.example.com", 443)).toMatchObject({ allowed: false, uncovered: false });
  });
});

describe("the host's own names and those of metadata", () => {
  it.each(["localhost", "x.localhost", "metadata.google.internal"])("%s is denied also with egress on", (name) =>
    expect(allows(rules("on"), name)).toBe(false),
  );
  it("unless a rule names it", () =>
    expect(allows(rules("on", [{ domain: "metadata.google.internal" }]), "metadata.google.internal")).toBe(true));
});

describe("addresses", () => {
  it("public ones need a range under an allowlist and nothing with egress on", () => {
    expect(address(rules("on"), "8.8.8.8")).toBe("yes: egress is on");
    expect(address(rules("allowlist", [{ domain: "example.com" }]), "8.8.8.8")).toBe("no: no rule allows it");
    expect(address(rules("allowlist", [{ cidr: "8.8.8.0/24" }]), "8.8.8.8")).toBe("yes: allow cidr 8.8.8.0/24");
    expect(address(rules("off", [{ cidr: "8.8.8.0/24" }]), "8.8.8.8")).toBe("no: egress is off");
  });

  it("others are opened by a range and by nothing else", () => {
    expect(address(rules("on"), "10.1.2.3")).toBe("no: not a public address: private network");
    expect(address(rules("on"), "10.1.2.3", 443, true)).toBe("no: not a public address: private network");
    expect(address(rules("on", [{ cidr: "10.1.0.0/16" }]), "10.1.2.3")).toBe("yes: allow cidr 10.1.0.0/16");
    expect(address(rules("on", [{ cidr: "10.1.0.0/16", ports: [5432] }]), "10.1.2.3")).toMatch(/^no/);
    expect(address(rules("allowlist", [{ cidr: "10.1.0.0/16" }]), "10.2.2.3")).toMatch(/^no/);
  });

  it("of the host are denied, public or not, also inside another form", () => {
    const own = new Set(["5.5.5.5"]);
    expect(address(rules("on"), "5.5.5.5", 80, true, own)).toBe("no: an address of the host itself");
    expect(address(rules("on"), "64:ff9b::5.5.5.5", 80, true, own)).toBe("no: an address of the host itself");
    expect(address(rules("on", [{ cidr: "5.5.5.5/32" }]), "5.5.5.5", 80, true, own)).toMatch(/^yes/);
  });

  it("are denied in every form that reaches them, and allowed only in the form that is dialled", () => {
    const judged = rules("on", [{ cidr: "10.0.0.0/8" }], [{ cidr: "8.8.8.0/24" }]);
    for (const form of ["8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"])
      expect(address(judged, form)).toMatch(/^no: deny/);
    expect(address(judged, "64:ff9b::10.0.0.1")).toMatch(/^no/);
  });
});

describe("presets", () => {
  it("are domain patterns that a rule could have", () => {
    const bad = Object.values(presetDomains)
      .flat()
      .filter((domain) => whyInvalidDomain(domain) !== null);
    expect(bad).toEqual([]);
  });

  it("allow and deny like the domains they stand for", () => {
    const judged = rules(
      "allowlist",
      [{ preset: "package-registries" }, { preset: "google" }],
      [{ preset: "cloud-apis" }],
    );
    expect(judged.judgeName("pypi.org", 443)).toMatchObject({
      allowed: true,
      rule: "allow domain pypi.org (preset package-registries)",
    });
    expect(allows(judged, "storage.googleapis.com")).toBe(false);
    expect(allows(rules("on", [], [{ preset: "cloud-apis" }]), "ec2.eu-west-1.amazonaws.com")).toBe(false);
  });

  it("that were not written out stop everything", () => {
    expect(() => rules("on", [], [{ preset: "mcp-servers" }])).toThrow(/mcp-servers/);
  });
});
