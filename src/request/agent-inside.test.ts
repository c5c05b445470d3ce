import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CompatibilityMode } from "../core/policy.js";
import { flagOf } from "../settings/wording.js";
import { withAgentInside } from "./agent-inside.js";
import type { RunSpec, SandboxSpec } from "./run-spec.js";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "agent-inside-"));
  const program = join(folder, "lib/node_modules/@vendor/codex/bin/codex.js");
  mkdirSync(join(program, ".."), { recursive: true });
  mkdirSync(join(folder, "bin"));
  for (const path of [program, join(folder, "bin/claude")]) {
    writeFileSync(path, "");
    chmodSync(path, 0o755);
  }
  symlinkSync("../lib/node_modules/@vendor/codex/bin/codex.js", join(folder, "bin/codex"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function asked(mode: CompatibilityMode, argv: readonly string[], more: SandboxSpec = {}): RunSpec {
  return { sandbox: { mode, ...more }, exec: { argv }, files: {}, nameOf: flagOf };
}

function inside(
  mode: CompatibilityMode,
  argv: readonly string[],
  more: SandboxSpec = {},
  env: Readonly<Record<string, string>> = {},
) {
  const at = { cwd: "/", homeDir: "/home/ada", env: { PATH: join(folder, "bin"), ...env } };
  const { sandbox, exec } = withAgentInside(asked(mode, argv, more), at);
  return { ...sandbox, argv: exec.argv };
}

const key = { name: "ANTHROPIC_API_KEY", host: "api.anthropic.com", header: "x-api-key" };

describe("an agent in its own mode", () => {
  test("gets its program, and its key bound to its own API", () => {
    expect(inside("claude", ["claude", "-p", "go"], {}, { ANTHROPIC_API_KEY: "fake" })).toMatchObject({
      argv: ["/opt/agent/claude", "-p", "go"],
      image: "host",
      "fs.mounts": [{ host: `${folder}/bin/claude`, guest: "/opt/agent/claude", readonly: true }],
      "net.secrets": [key],
      "proc.env": { IS_SANDBOX: "1" },
    });
  });

  test("of npm comes with the packages around it", () => {
    expect(inside("codex", ["codex"])).toMatchObject({
      argv: ["/opt/agent/node_modules/@vendor/codex/bin/codex.js"],
      "fs.mounts": [{ host: `${folder}/lib/node_modules`, guest: "/opt/agent/node_modules", readonly: true }],
    });
  });

  test("has no secret where there is no key", () => {
    const result = inside("claude", ["claude"], {}, { ANTHROPIC_API_KEY: "" });
    expect(result["net.secrets"]).toBeUndefined();
  });

  test("keeps what was stated outright", () => {
    const stated: SandboxSpec = {
      "net.secrets": [{ ...key, host: "proxy.example.com" }],
      "proc.env": { IS_SANDBOX: "0" },
      "fs.mounts": [{ host: "/a", guest: "/b", readonly: true }],
    };
    const result = inside("claude", ["claude"], stated, { ANTHROPIC_API_KEY: "fake" });
    expect(result["net.secrets"]).toEqual(stated["net.secrets"]);
    expect(result["fs.mounts"]).toEqual([...(stated["fs.mounts"] ?? []), expect.any(Object)]);
    expect(result["proc.env"]).toMatchObject({ IS_SANDBOX: "0" });
  });

  test("passes a key as a variable where the user says so", () => {
    const result = inside(
      "claude",
      ["claude"],
      { "proc.env": { ANTHROPIC_API_KEY: "mine" } },
      { ANTHROPIC_API_KEY: "fake" },
    );
    expect(result["net.secrets"]).toBeUndefined();
  });

  test("of another image is that image's", () => {
    const result = inside("claude", ["claude"], { image: "with-claude:1" });
    expect(result).toMatchObject({ argv: ["claude"], image: "with-claude:1" });
    expect(result["fs.mounts"]).toBeUndefined();
  });

  test("that is not installed stays what was typed", () => {
    expect(inside("gemini", ["gemini"])).toMatchObject({ argv: ["gemini"] });
  });
});

test.each([
  ["claude", ["npm", "test"]],
  ["claude", ["codex"]],
  ["native", ["claude"]],
  ["claude", ["./claude"]],
] as const)("mode %s with %j is not an agent inside", (mode, argv) => {
  const spec = asked(mode, argv);
  expect(withAgentInside(spec, { cwd: "/", homeDir: "/", env: { ANTHROPIC_API_KEY: "fake" } })).toBe(spec);
});
