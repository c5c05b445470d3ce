import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const folder = dirname(fileURLToPath(import.meta.url));

// Words that mean nothing must not look like a run in which everything passed.
test.each([
  ["check.mjs", "no-such-commit", '"no-such-commit" is no commit of this repository'],
  ["test-long.mjs", "no-such-part", "no part is called no-such-part; there are soak, "],
])("%s %s is refused", (script, word, reason) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [join(folder, script), word], { encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toContain(reason);
});
