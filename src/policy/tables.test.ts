import { describe, expect, test } from "vitest";
import type { CompatibilityMode, NetworkRule, ProfileName } from "../core/policy.js";
import { resolve } from "./resolve.js";

const withProfile = (name: ProfileName) => resolve({ profile: { name, origin: "--profile", by: "flag" } }).policy;
const withMode = (name: CompatibilityMode) =>
  resolve({ mode: { name, origin: "--compatibility-mode", by: "flag" } }).policy;
const both = (profile: ProfileName, mode: CompatibilityMode) =>
  resolve({
    profile: { name: profile, origin: "--profile", by: "flag" },
    mode: { name: mode, origin: "--compatibility-mode", by: "flag" },
  });

const registries: NetworkRule = { preset: "package-registries" };

describe("profiles", () => {
  test.each([
    ["permissive", "on", "mount", false, "readonly", true, false],
    ["moderate", "on", "copy", false, "none", false, false],
    ["restrictive", "off", "copy", true, "none", false, true],
  ] as const)("%s", (name, egress, workspace, readonly, home, passHostEnv, rootReadonly) => {
    const policy = withProfile(name);
    expect(policy.profile).toBe(name);
    expect(policy.net).toEqual({ egress, allow: [], deny: [], secrets: [] });
    expect(policy.fs.workspace).toEqual({ mode: workspace, readonly });
    expect(policy.fs.home).toBe(home);
    expect(policy.proc.passHostEnv).toBe(passHostEnv);
    expect(policy.fs.rootReadonly).toBe(rootReadonly);
  });

  test.each(["permissive", "moderate"] as const)("%s keeps the default process rules", (name) => {
    expect(withProfile(name).proc).toMatchObject({
      noRoot: false,
      capabilities: "default",
      seccomp: "default",
      landlock: "default",
    });
  });

  test("restrictive drops all capabilities, is not root, and has the strict walls", () => {
    expect(withProfile("restrictive").proc).toMatchObject({
      noRoot: true,
      capabilities: "none",
      seccomp: "strict",
      landlock: "workspace",
    });
  });

  test("moderate is the default, and says so", () => {
    const { policy, origins } = resolve({});
    expect(policy).toEqual(withProfile("moderate"));
    expect(origins.profile).toBe("default");
  });
});

describe("compatibility modes", () => {
  test("native is the profile's in everything", () => {
    expect(withMode("native")).toEqual(resolve({}).policy);
    for (const profile of ["permissive", "moderate", "restrictive"] as const) {
      expect(both(profile, "native").policy).toEqual(withProfile(profile));
    }
  });

  test.each([
    ["claude", ["api.anthropic.com", "cdn.anthropic.com"]],
    ["codex", ["api.openai.com", "cdn.openai.com"]],
    ["gemini", ["*.googleapis.com"]],
  ] as const)("%s reaches its API and the registries, and carries changes back", (mode, domains) => {
    const policy = withMode(mode);
    expect(policy.mode).toBe(mode);
    expect(policy.net.egress).toBe("allowlist");
    expect(policy.net.allow).toEqual([...domains.map((domain) => ({ domain })), registries]);
    expect(policy.fs.workspace).toEqual({ mode: "sync", readonly: false });
    expect(policy.fs.home).toBe("none");
    expect(policy.proc.passHostEnv).toBe(false);
  });

  test.each(["claude", "gemini"] as const)("%s isolates like moderate", (mode) => {
    expect(withMode(mode).proc).toEqual(withProfile("moderate").proc);
    expect(withMode(mode).fs.rootReadonly).toBe(false);
  });

  test("codex isolates like restrictive", () => {
    expect(withMode("codex").proc).toEqual(withProfile("restrictive").proc);
    expect(withMode("codex").fs.rootReadonly).toBe(true);
  });
});

describe("a profile beside a mode", () => {
  const agentModes = ["claude", "codex", "gemini"] as const;

  test.each(agentModes)("replaces the filesystem, process and environment fields of %s", (mode) => {
    for (const profile of ["permissive", "moderate", "restrictive"] as const) {
      const { policy } = both(profile, mode);
      expect(policy.fs).toEqual(withProfile(profile).fs);
      expect(policy.proc).toEqual(withProfile(profile).proc);
    }
  });

  test.each(agentModes)("leaves the stricter network of the two with %s", (mode) => {
    for (const profile of ["permissive", "moderate"] as const) {
      expect(both(profile, mode).policy.net).toEqual(withMode(mode).net);
      expect(both(profile, mode).origins["net.egress"]).toBe(`mode ${mode}`);
    }
    const restrictive = both("restrictive", mode);
    expect(restrictive.policy.net).toEqual({ egress: "off", allow: [], deny: [], secrets: [] });
    expect(restrictive.origins["net.egress"]).toBe("profile restrictive");
  });
});
