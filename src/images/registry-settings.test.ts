import { expect, it } from "vitest";
import { registryOptions } from "./registry-settings.js";

const settings = { env: {}, homeDir: "/home/me" };

it("a word among the mirrors says that the registry itself is not asked", () => {
  const options = registryOptions({ ...settings, mirrors: ["http://127.0.0.1:5000", "only"] });
  expect(options).toMatchObject({ mirrors: { "docker.io": ["http://127.0.0.1:5000"] }, mirrorsOnly: true });
  expect(registryOptions({ ...settings, mirrors: [] })).toMatchObject({ mirrors: {}, mirrorsOnly: false });
});
