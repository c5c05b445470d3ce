import { describe, expect, it } from "vitest";
import { addressRuleFor, type Endpoint, endpointsOf } from "./endpoint.js";
import { checkLedTo } from "./redirects.js";
import { mayReceiveLogin } from "./token.js";

function endpointOf(registry: string): Endpoint {
  const [endpoint] = endpointsOf(registry);
  if (endpoint === undefined) throw new Error("no endpoint");
  return endpoint;
}
const outside = endpointOf("registry.example.com");
const here = endpointOf("localhost:5000");

describe("a place that a registry leads to", () => {
  it("is never plain HTTP when it comes from https, not even on loopback", () => {
    const from = new URL("https://localhost:5000/v2/");
    expect(() => checkLedTo(new URL("http://localhost:5001/x"), from, here, "redirects")).toThrow(
      /from https to plain http/,
    );
    expect(() => checkLedTo(new URL("https://localhost:5001/x"), from, here, "redirects")).not.toThrow();
  });

  it.each<[Endpoint, string, string]>([
    [outside, "https://registry.example.com/x", "any"],
    [outside, "https://registry.example.com:444/x", "outside"],
    [outside, "https://cdn.example.com/x", "outside"],
    [outside, "https://localhost/x", "outside"],
    [here, "https://localhost:5000/x", "here"],
    [here, "http://localhost:5001/x", "here"],
    [here, "https://cdn.example.com/x", "here-or-outside"],
  ])("%j → %s may have addresses of the kind %s", (endpoint, url, rule) => {
    expect(addressRuleFor(new URL(url), endpoint)).toBe(rule);
  });
});

describe("a login", () => {
  it.each<[string, string]>([
    ["auth.docker.io", "registry-1.docker.io"],
    ["gitlab.example", "gitlab.example"],
    ["git.example.com", "registry.git.example.com"],
    ["auth.ghcr.io", "ghcr.io"],
    ["127.0.0.1", "127.0.0.1"],
  ])("may go to %s for %s", (realm, registry) => {
    expect(mayReceiveLogin(realm, registry)).toBe(true);
  });

  it.each<[string, string]>([
    ["evil.io", "ghcr.io"],
    ["evilghcr.io", "ghcr.io"],
    ["docker.io.evil.net", "registry-1.docker.io"],
    ["127.0.0.2", "127.0.0.1"],
    ["1.0.0.1", "10.0.0.1"],
    ["[::2]", "[::1]"],
    ["localhost", "127.0.0.1"],
  ])("may not go to %s for %s", (realm, registry) => {
    expect(mayReceiveLogin(realm, registry)).toBe(false);
  });
});
