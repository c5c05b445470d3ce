import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { forgetHeapVariables, keepHeapCompact, withHeapVariables } from "./heap-settings.js";

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
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const holesBytes = () => {
    // What a first collection frees may hold what only a second one can free.
    for (let pass = 0; pass < 3; pass++) collect();
    return getHeapSpaceStatistics().find(({ space_name: name }) => name === "old_space")?.space_available_size ?? 0;
  };
  const made = Array.from({ length: 400_000 }, (_, index) => ({ index }));
  collect();
  collect();
  // Too few on each page for V8 to move the others by itself.
  const kept = made.filter(({ index }) => index % 10 < 8);
  made.length = 0;
  const before = holesBytes();
  keepHeapCompact();
  expect(holesBytes()).toBeLessThan(before / 4);
  expect(kept).toHaveLength(320_000);
});
