import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pluginFiles } from "./plugin.js";

test.each(Object.keys(pluginFiles))("%s is what the sources say (npm run plugins writes it)", (path) => {
  expect(readFileSync(path, "utf8")).toBe(pluginFiles[path]);
});
