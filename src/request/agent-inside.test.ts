import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withAgentInside } from "./agent-inside.js";

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

function options(mode: string, rest: readonly string[], more: Readonly<Record<string, readonly string[]>> = {}) {
  return { flags: new Set<string>(), values: new Map(Object.entries({ "compatibility-mode": [mode], ...more })), rest };
}

function inside(mode: string, rest: readonly string[], more = {}, env: Readonly<Record<string, string>> = {}) {
  const at = { cwd: "/", homeDir: "/home/ada", env: { PATH: join(folder, "bin"), ...env } };
  const { values, rest: argv } = withAgentInside(options(mode, rest, more), at);
  return { ...Object.fromEntries(values), argv };
}

describe("an agent in its own mode", () => {
  test("gets its program, and its key bound to its own API", () => {
    expect(inside("claude", ["claude", "-p", "go"], {}, { ANTHROPIC_API_KEY: "fake" })).toMatchObject({
      argv: ["/opt/agent/claude", "-p", "go"],
      image: ["host"],
      mount: [`${folder}/bin/claude:/opt/agent/claude:ro`],
      secret: ["ANTHROPIC_API_KEY:api.anthropic.com:x-api-key"],
      env: expect.arrayContaining(["IS_SANDBOX=1"]),
    });
  });

  test("of npm comes with the packages around it", () => {
    expect(inside("codex", ["codex"])).toMatchObject({
      argv: ["/opt/agent/node_modules/@vendor/codex/bin/codex.js"],
      mount: [`${folder}/lib/node_modules:/opt/agent/node_modules:ro`],
    });
  });

  test("has no secret where there is no key", () => {
    expect(inside("claude", ["claude"], {}, { ANTHROPIC_API_KEY: "" })).not.toHaveProperty("secret");
  });

  test("keeps what was said outright", () => {
    const said = { secret: ["ANTHROPIC_API_KEY:proxy.example.com"], env: ["IS_SANDBOX=0"], mount: ["/a:/b:ro"] };
    const result = inside("claude", ["claude"], said, { ANTHROPIC_API_KEY: "fake" });
    expect(result).toMatchObject({ secret: said.secret, mount: ["/a:/b:ro", expect.any(String)] });
    expect(result).toMatchObject({ env: expect.not.arrayContaining(["IS_SANDBOX=1"]) });
  });

  test("of another image is that image's", () => {
    const result = inside("claude", ["claude"], { image: ["with-claude:1"] });
    expect(result).toMatchObject({ argv: ["claude"], image: ["with-claude:1"] });
    expect(result).not.toHaveProperty("mount");
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
])("mode %s with %j is not an agent inside", (mode, rest) => {
  const asked = options(mode, rest);
  expect(withAgentInside(asked, { cwd: "/", homeDir: "/", env: { ANTHROPIC_API_KEY: "fake" } })).toBe(asked);
});
