import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claude } from "./claude/index.js";
import { codex } from "./codex.js";
import { detect } from "./detect.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agents-detect-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

const at = (env: Readonly<Record<string, string>> = {}) => ({
  cwd: folder,
  homeDir: folder,
  env: { PATH: `relative:${join(folder, "bin")}`, ...env },
});

test("what is in no PATH is not installed, and has no key", async () => {
  expect(await detect(claude, at())).toEqual({ program: null, version: null, key: null });
});

test("the version is that of the package, and nothing is started for it", async () => {
  put("lib/node_modules/@openai/codex/package.json", '{"name":"@openai/codex","version":"1.2.3"}');
  const program = put("lib/node_modules/@openai/codex/bin/codex.js", `#!/bin/sh\ntouch ${folder}/started\n`);
  mkdirSync(join(folder, "bin"));
  symlinkSync(program, join(folder, "bin/codex"));
  expect(await detect(codex, at({ OPENAI_API_KEY: "fake" }))).toEqual({
    program: join(folder, "bin/codex"),
    version: "1.2.3",
    key: "OPENAI_API_KEY",
  });
  expect(() => rmSync(join(folder, "started"))).toThrow();
});

test("a program without a package is asked, without the user's variables", async () => {
  put("bin/claude", '#!/bin/sh\n[ -z "$ANTHROPIC_API_KEY" ] && echo "4.5.6 (Claude Code)"\n');
  expect(await detect(claude, at({ ANTHROPIC_API_KEY: "fake" }))).toMatchObject({ version: "4.5.6" });
});

test("a program that says nothing has no version", async () => {
  put("bin/claude", "#!/bin/sh\nexit 3\n");
  put(".claude/.credentials.json", "never read");
  expect(await detect(claude, at({ ANTHROPIC_API_KEY: "" }))).toMatchObject({ version: null, key: "login" });
});
