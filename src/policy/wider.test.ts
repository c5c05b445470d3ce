import { describe, expect, it } from "vitest";
import type { NetworkRule, Policy } from "../core/policy.js";
import { resolve } from "./resolve.js";
import { widerFields } from "./wider.js";

const under = (name: "permissive" | "moderate" | "restrictive") =>
  resolve({ profile: { name, origin: "--profile", by: "flag" } }).policy;
const withNet = (
  egress: Policy["net"]["egress"],
  allow: readonly NetworkRule[] = [],
  deny: readonly NetworkRule[] = [],
) => {
  const policy = under("moderate");
  return { ...policy, net: { ...policy.net, egress, allow, deny } };
};
const fields = (wanted: Policy, usual: Policy) => widerFields(wanted, usual).map(({ field }) => field);

describe("what is wider", () => {
  it("is nothing of itself, and nothing of what is stricter", () => {
    expect(fields(under("moderate"), under("moderate"))).toEqual([]);
    expect(fields(under("restrictive"), under("moderate"))).toEqual([]);
    expect(fields(withNet("allowlist", [{ domain: "a.example" }]), withNet("on"))).toEqual([]);
    expect(fields(withNet("off"), withNet("allowlist"))).toEqual([]);
  });

  it("is each field that a looser profile opens", () => {
    const opened = fields(under("permissive"), under("moderate"));
    expect(opened).toEqual(["fs.workspace.mode", "fs.home", "proc.passHostEnv"]);
    expect(fields(under("moderate"), under("restrictive"))).toContain("net.egress");
    expect(fields(under("moderate"), under("restrictive"))).toContain("proc.noRoot");
  });

  it("is a name that no rule covers, unless everything public is open already", () => {
    const usual = withNet("allowlist", [{ domain: "*.example.com" }]);
    expect(fields(withNet("allowlist", [{ domain: "a.example.com" }]), usual)).toEqual([]);
    expect(fields(withNet("allowlist", [{ domain: "example.org" }]), usual)).toEqual(["net.allow"]);
    expect(fields(withNet("allowlist", [{ preset: "package-registries" }]), usual)).toEqual(["net.allow"]);
    expect(fields(withNet("allowlist", [{ cidr: "10.0.0.0/8" }]), withNet("on"))).toEqual(["net.allow"]);
    expect(fields(withNet("on"), usual)).toEqual(["net.egress"]);
  });

  it("is a denial that is missing", () => {
    const denied = withNet("on", [], [{ domain: "a.example" }]);
    expect(fields(withNet("on"), denied)).toEqual(["net.deny"]);
    expect(fields(denied, withNet("on"))).toEqual([]);
  });
});
