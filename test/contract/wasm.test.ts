/** What the contract asks of every backend, of modules: its floor by calls of a real one, the rest by what does not apply. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { wasmLacks } from "../../src/backends/wasm/index.js";
import { actors } from "../support/actors.js";
import { leaksSince, traces } from "../support/leaks.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { makeProject } from "../support/project.js";
import { type CliOptions, runCli } from "../support/run-cli.js";
import { rustModule } from "../support/wasm-modules.js";
import { admittedLacks, floor } from "./suite/capabilities.js";

const tell = rustModule("tell");
const hostile = rustModule("hostile");

describe("what does not apply to modules", () => {
  it("is nothing of the floor, and each has its reason", () => {
    expect(admittedLacks("wasm", wasmLacks).size).toBe(wasmLacks.length);
  });
});

describe.each(actors)("wasm, by $name", (actor) => {
  leavesNothingBehind();
  const run = (words: readonly string[], options: CliOptions = {}) =>
    runCli(actor, ["run", "--backend", "wasm", ...words], options);

  const checks: Readonly<Record<(typeof floor)[number], () => Promise<void>>> = {
    "exit-status": async () => {
      for (const code of [0, 1, 42, 255]) {
        expect(await run([tell, "exit", String(code)])).toMatchObject({ status: code, stdout: "" });
      }
    },
    streams: async () => {
      const both = await run([tell, "both"]);
      expect(both).toMatchObject({ status: 0, stdout: "to stdout\n" });
      expect(both.stderr).toMatch(/(^|\n)to stderr\n$/);
      const large = await run([tell, "large", "5000000"]);
      expect({ status: large.status, length: large.stdout.length }).toEqual({ status: 0, length: 5_000_000 });
    },
    stdin: async () => {
      const text = "a line\n".repeat(100_000);
      const { status, stdout } = await run([tell, "echo"], { stdin: text });
      expect({ status, isSame: stdout === text }).toEqual({ status: 0, isSame: true });
    },
    "working-directory": async () => {
      const { path } = makeProject(actor, { "a.txt": "top", "src/b.txt": "below" });
      expect(await run([tell, "read", "a.txt"], { cwd: path })).toMatchObject({ stdout: "top" });
      const below = await run(["--workdir", "/workspace/src", tell, "read", "b.txt"], { cwd: path });
      expect(below).toMatchObject({ status: 0, stdout: "below" });
      expect(await run(["--workdir", "/workspace/none", tell], { cwd: path })).toMatchObject({ status: 125 });
    },
    environment: async () => {
      const { stdout } = await run(["--env", "COLOUR=green", tell, "env", "COLOUR"]);
      expect(stdout).toBe("green\n");
      expect(await run([tell, "env", "HOST_ONLY"], { env: { HOST_ONLY: "1" } })).toMatchObject({ stdout: "\n" });
    },
    timeout: async () => {
      for (const how of ["loop", "sleep"]) {
        const result = await run(["--timeout", "300ms", hostile, how]);
        expect({ how, ...result }).toMatchObject({ how, status: 124, stdout: "" });
        expect(result.stderr).toContain("timed out after 300 ms");
      }
    },
    "filesystem-isolation": async () => {
      const project = makeProject(actor, { "kept.txt": "as it was", ".env": "SECRET=1" });
      const at = { cwd: project.path };
      expect(await run([tell, "write", "kept.txt", "changed"], at)).toMatchObject({ status: 0, stdout: "written\n" });
      expect(readFileSync(join(project.path, "kept.txt"), "utf8")).toBe("as it was");
      for (const path of ["/etc/passwd", "/", "../../etc/passwd", "/module/module.cwasm", "/proc/self/maps", ".env"]) {
        expect({ path, ...(await run([tell, "read", path], at)) }).toMatchObject({ path, status: 3, stdout: "" });
      }
    },
    "network-isolation": async () => {
      const { stdout } = await runCli(actor, ["run", "--backend", "wasm", "--json", tell]);
      const { data } = JSON.parse(stdout);
      expect(data.network).toEqual({ mode: "off", blocked: [] });
      expect(data.layers).toContainEqual({ name: "webassembly", state: "applied" });
      const named = await run(["--network", "on", tell]);
      expect(named).toMatchObject({ status: 125 });
      expect(named.stderr).toContain("reaches no network");
    },
    cleanup: async () => {
      const before = traces();
      expect(await run([hostile, "recursion"])).toMatchObject({ status: 139 });
      expect(await leaksSince(before)).toEqual([]);
    },
  };

  it.each(floor)(
    "%s",
    async (capability) => {
      await checks[capability]();
    },
    60_000,
  );
});
