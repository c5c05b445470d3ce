import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

let folder = "";
let entry = "";

/** The real command line, bundled; what only `run` and `doctor` need is left out. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "cli-output-"));
  await build({
    entryPoints: [join(fileURLToPath(new URL(".", import.meta.url)), "main.ts")],
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    external: ["../run/execute.js", "../run/boot-guest.js"],
    logLevel: "error",
  });
  entry = join(folder, "main.mjs");
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts it with a stdout that nobody reads any more. */
function withClosedPipe(...words: string[]): Promise<{ status: number | null; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [entry, ...words], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.destroy();
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stderr }));
  });
}

test("the real entry prints and ends with the status of its verb", () => {
  expect(execFileSync(process.execPath, [entry, "--version"], { encoding: "utf8" })).toMatch(/^agentkernel \d/);
});

test("a reader that went away is no error", async () => {
  expect(await withClosedPipe("completions", "bash")).toEqual({ status: 0, stderr: "" });
  expect(await withClosedPipe("run", "--json", "--bogus", "ls")).toEqual({ status: 125, stderr: "" });
});

test("a stdout that cannot be written is one clear sentence", async () => {
  const full = openSync("/dev/full", "w");
  const child = spawn(process.execPath, [entry, "version", "--json"], { stdio: ["ignore", full, "pipe"] });
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const status = await new Promise((resolve) => child.on("close", resolve));
  expect(status).toBe(125);
  expect(stderr).toMatch(/^agentkernel: standard output cannot be written \(ENOSPC\)\n {2}hint: [^\n]+\n$/);
});
