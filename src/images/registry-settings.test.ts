import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { addressRuleFor, endpointsOf } from "./registry/endpoint.js";
import { registryOptions } from "./registry-settings.js";

const settings = { env: {}, homeDir: "/home/me" };

it("a word among the mirrors says that the registry itself is not asked", () => {
  const options = registryOptions({ ...settings, mirrors: ["http://127.0.0.1:5000", "only"] });
  expect(options).toMatchObject({ mirrors: { "docker.io": ["http://127.0.0.1:5000"] }, mirrorsOnly: true });
  expect(registryOptions({ ...settings, mirrors: [] })).toMatchObject({ mirrors: {}, mirrorsOnly: false });
});

it("with mirrors only, a registry without one is not asked, unless it is on this machine", () => {
  expect(() => endpointsOf("registry.example", {}, true)).toThrow(/has no mirror, and only mirrors are asked/);
  expect(endpointsOf("localhost:5000", {}, true)).toMatchObject([{ name: "localhost:5000" }]);
  expect(endpointsOf("registry.example", { "registry.example": ["a.example"] }, true)).toMatchObject([
    { name: "a.example" },
  ]);
});

it("with somebody else's words, neither logins nor proxies of the user's nor private addresses are used", async () => {
  const homeDir = mkdtempSync(join(tmpdir(), "agentkernel-logins-"));
  mkdirSync(join(homeDir, ".docker"));
  const auth = Buffer.from("user:word").toString("base64");
  writeFileSync(join(homeDir, ".docker", "config.json"), JSON.stringify({ auths: { "a.example": { auth } } }));
  const asked = { mirrors: [], env: { HTTPS_PROXY: "http://127.0.0.1:3128" }, homeDir };
  const [own, others] = [registryOptions(asked), registryOptions({ ...asked, publicOnly: true })];
  expect(await own.credentials?.("a.example")).toMatchObject({ username: "user" });
  expect(await others.credentials?.("a.example")).toBeNull();
  rmSync(homeDir, { recursive: true });
  expect(own.proxy?.(new URL("https://a.example"))).not.toBeNull();
  expect(others.proxy?.(new URL("https://a.example"))).toBeNull();
  for (const registry of ["localhost:5000", "10.0.0.1", "a.example"]) {
    const [endpoint] = endpointsOf(registry, {}, false, others.publicOnly);
    if (endpoint === undefined) throw new Error("a registry has an endpoint");
    for (const url of [endpoint.origin, "https://b.example", "http://localhost"])
      expect(addressRuleFor(new URL(url), endpoint)).toBe("outside");
    expect(endpoint.schemeOpen).toBe(false);
  }
});
