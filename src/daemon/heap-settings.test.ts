import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { expect, it } from "vitest";
import { forgetHeapVariables, withHeapVariables } from "./heap-settings.js";

it("settings of the process's heap are there for its start, and then nobody's", () => {
  const env: Record<string, string | undefined> = withHeapVariables({ PATH: "/usr/bin" });
  expect(env).toMatchObject({ MALLOC_ARENA_MAX: "1" });
  forgetHeapVariables(env);
  expect(env).toEqual({ PATH: "/usr/bin" });
  const own = { MALLOC_ARENA_MAX: "8" };
  forgetHeapVariables(own);
  expect(own).toEqual({ MALLOC_ARENA_MAX: "8" });
});

it("holes between objects that stay are closed by a full collection", () => {
  // In a process of its own: what else lies in this one's heap would count too.
  const path = fileURLToPath(new URL("heap-settings.ts", import.meta.url));
  const { outputFiles } = buildSync({
    entryPoints: [path],
    bundle: true,
    platform: "node",
    format: "cjs",
    write: false,
  });
  const program = `${outputFiles[0]?.text}
    const holesBytes = () => {
      // What a first collection frees may hold what only a second one can free.
      for (let pass = 0; pass < 3; pass++) gc();
      const spaces = require("node:v8").getHeapSpaceStatistics();
      return spaces.find(({ space_name: name }) => name === "old_space").space_available_size;
    };
    const made = Array.from({ length: 400_000 }, (_, index) => ({ index }));
    gc();
    gc();
    // Too few on each page for V8 to move the others by itself.
    const kept = made.filter(({ index }) => index % 10 < 8);
    made.length = 0;
    keepHeapCompact();
    console.log(JSON.stringify({ holesBytes: holesBytes(), kept: kept.length }));`;
  const told = execFileSync(process.execPath, ["--expose-gc", "-e", program], { encoding: "utf8" });
  const { holesBytes, kept } = JSON.parse(told) as { holesBytes: number; kept: number };
  // Of some megabytes that were freed between them.
  expect(holesBytes).toBeLessThan(10_000);
  expect(kept).toBe(320_000);
});
