import { expect, it } from "vitest";
import { endpointsOf } from "./registry/endpoint.js";
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
