/** The first run of a checkout: whoever waits for its set-up knows why, wherever stderr goes. */
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let checkout = "";
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), "agentkernel-checkout-"));
  for (const name of ["scripts", "bin", "package.json", "package-lock.json"]) {
    cpSync(name, join(checkout, name), { recursive: true });
  }
  // Nothing is fetched: what would do that fails at once.
  mkdirSync(join(checkout, "tools"));
  writeFileSync(join(checkout, "tools", "npm"), "#!/bin/sh\nexit 1\n");
  chmodSync(join(checkout, "tools", "npm"), 0o755);
});
afterEach(() => rmSync(checkout, { recursive: true }));

describe("a checkout that is not set up", () => {
  it("says so in one line on stderr, also where that is no terminal, and nothing on stdout", () => {
    const { status, stdout, stderr } = spawnSync("sh", [join(checkout, "bin", "agentkernel"), "version"], {
      encoding: "utf8",
      env: { ...process.env, PATH: `${join(checkout, "tools")}:${process.env.PATH}` },
    });
    expect({ status, stdout }).toEqual({ status: 125, stdout: "" });
    const [first = "", ...others] = stderr.split("\n");
    expect(first).toMatch(/^agentkernel: setting up this checkout, which happens once: .*minute/);
    expect(others.filter((line) => line.includes("setting up"))).toEqual([]);
  });
});
