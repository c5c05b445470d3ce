import { describe, expect, it } from "vitest";
import { proxyFromEnvironment } from "./proxy.js";

const chosen = (env: Record<string, string>, url: string): string | null =>
  proxyFromEnvironment(env)(new URL(url))?.href ?? null;
const proxy = { HTTPS_PROXY: "http://proxy.test:3128" };

describe("the proxy of the environment", () => {
  it("is used for what lies outside", () => {
    expect(chosen(proxy, "https://registry.test/v2/")).toBe("http://proxy.test:3128/");
    expect(chosen({ https_proxy: "proxy.test:3128" }, "https://registry.test")).toBe("http://proxy.test:3128/");
    expect(chosen({ ALL_PROXY: "https://proxy.test" }, "https://registry.test")).toBe("https://proxy.test/");
    expect(chosen({}, "https://registry.test")).toBeNull();
    expect(chosen({ HTTPS_PROXY: "" }, "https://registry.test")).toBeNull();
  });

  it.each([
    "https://localhost",
    "https://a.localhost:5000",
    "https://127.0.0.1:5000",
    "https://127.1.2.3",
    "https://[::1]:5000",
  ])("is never used for %s", (url) => expect(chosen(proxy, url)).toBeNull());

  it.each([
    ["*", "https://registry.test", true],
    ["registry.test", "https://registry.test", true],
    ["registry.test", "https://sub.registry.test", true],
    [".registry.test", "https://sub.registry.test", true],
    ["*.registry.test", "https://sub.registry.test", true],
    ["registry.test", "https://evilregistry.test", false],
    ["registry.test:443", "https://registry.test", true],
    ["registry.test:5000", "https://registry.test", false],
    ["other.test, registry.test", "https://registry.test", true],
    ["10.0.0.0/8", "https://10.1.2.3", true],
    ["10.0.0.0/8", "https://11.1.2.3", false],
    ["10.1.2.3", "https://10.1.2.3:5000", true],
    ["fd00::/8", "https://[fd00::1]", true],
    ["10.0.0.0/99", "https://10.1.2.3", false],
  ])("with NO_PROXY=%s leaves %s alone: %s", (exceptions, url, direct) => {
    expect(chosen({ ...proxy, NO_PROXY: exceptions }, url) === null).toBe(direct);
  });

  it.each(["socks5://user:s3cret@proxy", "http://[s3cret"])(
    "of another kind is refused without repeating %s",
    (text) => {
      expect(() => chosen({ HTTPS_PROXY: text }, "https://x.test")).toThrow(/^HTTPS_PROXY /);
      expect(() => chosen({ HTTPS_PROXY: text }, "https://x.test")).not.toThrow(/s3cret/);
    },
  );
});
