/** The examples do in a sandbox what they say; the script that users run is what runs them. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { repository } from "../support/repository.js";
import { testFolder } from "../support/test-folder.js";

/** Toolchains that the set-up for tests brings; the others run where a machine has them. */
const always = ["c", "go", "java", "javascript", "python", "rust", "shell"];

it("every example whose toolchain is here prints in its sandbox what it should", { timeout: 300_000 }, () => {
  const { status, stdout } = spawnSync("sh", [join(repository, "scripts", "run-examples.sh")], {
    encoding: "utf8",
    env: { ...process.env, AGENTKERNEL_DAEMON: "off", XDG_STATE_HOME: join(testFolder(), "examples-state") },
  });
  const lines = stdout.split("\n");
  expect(lines.filter((line) => line.startsWith("FAILED") || line.startsWith(" "))).toEqual([]);
  expect(lines).toEqual(expect.arrayContaining(always.map((name) => `ok       ${name}`)));
  expect(status).toBe(0);
});
