/** What the fuzzers keep, through the same functions that they search. Rust's targets are replayed by cargo's tests. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { filesUnder } from "../architecture/module-graph.js";
import { corpora, keptInputs, MOST_BYTES, MOST_INPUTS, nativeTargets, scriptTargets } from "./corpus.js";

interface Target {
  run(data: Uint8Array): void | Promise<void>;
}

describe.each(scriptTargets())("%s", (name) => {
  it("takes every input that is kept", async () => {
    const target: Target = await import(`./targets/${name}.ts`);
    for (const { name: input, bytes } of keptInputs(name)) {
      try {
        await target.run(bytes);
      } catch (error) {
        throw new Error(`test/fuzz/corpus/${name}/${input} goes wrong`, { cause: error });
      }
    }
  });
});

describe("the corpora", () => {
  it("are those of the targets, each with inputs", () => {
    expect(corpora()).toEqual([...scriptTargets(), ...nativeTargets()].sort());
    expect(corpora().filter((name) => keptInputs(name).length === 0)).toEqual([]);
  });

  it.each(corpora())("%s is small enough for every run of the tests", (name) => {
    const inputs = keptInputs(name);
    expect(inputs.length).toBeLessThanOrEqual(MOST_INPUTS);
    expect(inputs.filter(({ bytes }) => bytes.length > MOST_BYTES).map((input) => input.name)).toEqual([]);
  });

  it("of Rust's targets are replayed by a test of cargo's", () => {
    const sources = filesUnder("native", ".rs").map((path) => readFileSync(path, "utf8"));
    const replayed = nativeTargets().filter((name) => sources.some((text) => text.includes(`replay("${name}",`)));
    expect(replayed).toEqual(nativeTargets());
  });
});
