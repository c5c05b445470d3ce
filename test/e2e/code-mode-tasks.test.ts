/** The tasks of examples/code-mode, over real MCP servers from npm, with direct calls and with code mode. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { repository } from "../support/repository.js";
import { testSettings } from "../support/test-settings.js";

const run = promisify(execFile);
const [actor] = actors;
if (actor === undefined) throw new Error("nobody runs tests here");

/** In versions that do not move, so that the figures are about us. */
const PACKAGES = [
  "@modelcontextprotocol/server-filesystem@2026.8.31",
  "@modelcontextprotocol/server-memory@2026.8.31",
  "gpt-tokenizer@4.0.0",
];
const folder = join(repository, ".build", "tool-servers-1");

interface Way {
  readonly tokens: number;
  readonly isRight: boolean;
}

describe("three tasks over real MCP servers", () => {
  beforeAll(async () => {
    if (existsSync(folder)) return;
    const staging = `${folder}.${process.pid}`;
    mkdirSync(staging, { recursive: true });
    const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    await run("npm", ["install", ...quiet, "--prefix", staging, ...PACKAGES], { timeout: 150_000, cwd: staging });
    rmSync(folder, { recursive: true, force: true });
    renameSync(staging, folder);
  }, 180_000);

  it("take at most a fifth of the tokens with code mode, and the same checker takes both answers", async () => {
    const script = join(repository, "examples/code-mode/measure.mjs");
    const env = { ...process.env, HOME: actor.home, ...testSettings, AGENTKERNEL_DAEMON: "off" };
    const { stdout } = await run(process.execPath, [script, folder, "--json"], { env, timeout: 150_000 });
    const rows: readonly { readonly task: string; readonly direct: Way; readonly code: Way }[] = JSON.parse(stdout);
    expect(rows).toHaveLength(3);
    for (const { task, direct, code } of rows) {
      expect([direct.isRight, code.isRight], task).toEqual([true, true]);
      expect(code.tokens / direct.tokens, task).toBeLessThan(0.2);
    }
  }, 160_000);
});
