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
  readonly toolsMs: number;
  /** With the model's time, as it is assumed. */
  readonly wallMs: number;
  readonly isRight: boolean;
}

interface Measured {
  readonly model: object;
  readonly rows: readonly { readonly task: string; readonly direct: Way; readonly code: Way }[];
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

  it("take at most a fifth of the tokens and less time with code mode, and one checker takes both answers", async () => {
    const script = join(repository, "examples/code-mode/measure.mjs");
    const env = { ...process.env, HOME: actor.home, ...testSettings, AGENTKERNEL_DAEMON: "off" };
    const { stdout } = await run(process.execPath, [script, folder, "--json"], { env, timeout: 150_000 });
    const { model, rows }: Measured = JSON.parse(stdout);
    expect(model).toEqual({ firstTokenMs: 500, readPerSecond: 10_000, writtenPerSecond: 80 });
    expect(rows).toHaveLength(3);
    for (const { task, direct, code } of rows) {
      expect([direct.isRight, code.isRight], task).toEqual([true, true]);
      expect(code.tokens / direct.tokens, task).toBeLessThan(0.2);
    }
    // Times of tools are for the benchmark: here others may be at work. What is left is calculated, and the same always.
    const modelMs = ({ wallMs, toolsMs }: Way) => wallMs - toolsMs;
    for (const { task, direct, code } of rows) expect(modelMs(code), task).toBeLessThan(modelMs(direct));
  }, 160_000);
});
