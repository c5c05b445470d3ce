/** The search over TypeScript: coverage leads it, and what it finds is shortened. */
import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { COUNTERS, type Counted, withCounters } from "./counters.mjs";
import { mutated, randomOf } from "./mutations.mjs";
import { bundled, searched } from "./script-target.mjs";
import { minimized, Search } from "./search.mjs";

const folder = mkdtempSync(join(tmpdir(), "agentkernel-fuzz-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Each step of the four is behind the one before. */
const LOCK = `function run(data) {
  if (data[0] === 0x41) if (data[1] === 0x9d) if (data[2] === 0x42 ? data[3] === 0xe7 : false) throw new Error("open");
}`;

function prepared(source: string, name: string): Counted & { run: (data: Buffer) => unknown; array: Uint8Array } {
  const counted = withCounters(source);
  const array = new Uint8Array(counted.counters);
  const run = new Function(COUNTERS, `${counted.text}; return ${name};`)(array);
  return { ...counted, run, array };
}

async function triesUntilOpen(isLed: boolean, most: number): Promise<number> {
  const { run, array, counters } = prepared(LOCK, "run");
  const search = new Search({
    run: (input) => void run(input),
    counters: isLed ? array : new Uint8Array(counters),
    words: [],
    random: randomOf(1),
    maxBytes: 16,
  });
  await search.seed([Buffer.alloc(4)]);
  while (search.executions < most) {
    try {
      await search.step(search.next());
    } catch {
      return search.executions;
    }
  }
  return most;
}

describe("the search", () => {
  it("opens a lock of four bytes one after the other, which chance alone does not", async () => {
    const tries = await triesUntilOpen(true, 200_000);
    expect(tries).toBeLessThan(200_000);
    expect(await triesUntilOpen(false, 200_000)).toBe(200_000);
  });

  it("keeps what reaches something new, and only that", async () => {
    const { run, array } = prepared(LOCK, "run");
    const search = new Search({
      run: (input) => void run(input),
      counters: array,
      words: [],
      random: randomOf(1),
      maxBytes: 16,
    });
    await search.seed([Buffer.from("x")]);
    await search.step(Buffer.from("y"));
    await search.step(Buffer.from("A"));
    expect(search.kept.map(String)).toEqual(["x", "A"]);
  });

  it("shortens an input as far as it still goes wrong", async () => {
    const input = Buffer.from(`${"a".repeat(300)}!${"b".repeat(300)}?`);
    const shortest = await minimized(input, async (bytes) => bytes.includes("!") && bytes.includes("?"), 4000);
    expect(shortest.toString()).toBe("!?");
  });

  it("makes no input longer than it may be, whatever it changes", () => {
    const random = randomOf(3);
    const material = { words: [Buffer.from("word")], others: [Buffer.alloc(50, 7)] };
    let input: Buffer = Buffer.from("a");
    const lengths = Array.from({ length: 5000 }, () => {
      input = mutated(input, random, material, 40);
      return input.length;
    });
    expect(Math.max(...lengths)).toBe(40);
    expect(new Set(lengths).size).toBeGreaterThan(20);
  });
});

describe("counters", () => {
  const source = `
    const pick = (a) => a > 1 ? "many" : a === 1 ? "one" : a ?? "none";
    class K { static n = 0; static { K.n = 5; } #x = (0, 1); get x() { return this.#x; } }
    async function f(list) {
      let text = "";
      for (const one of list) if (one && one.length) text += one; else text += "-";
      out: for (let i = 0; i < 3; i++) { while (true) { if (i === 1) continue out; else break; } text += i; }
      switch (list.length) { case 0: text += "empty"; break; case 2: default: text += "two"; }
      try { null.x; } catch { text += /ab[c-e]+fg/.test(text) ? "!" : "?"; }
      do text += "."; while (text.length < 4);
      return text + pick(list.length) + ({ y: new K().x + K.n }).y + (() => ({ z: 70000 }))().z;
    }`;

  it("change nothing of what a program does", async () => {
    const { run } = prepared(source, "f");
    const plain = new Function(`${source}; return f;`)();
    for (const list of [[], ["a"], ["a", ""], ["x", "y", "z"]]) {
      expect(await run(list as unknown as Buffer)).toBe(await plain(list));
    }
  });

  it("tell branches apart, and know the words that a program compares with", async () => {
    const { run, array, words } = prepared(source, "f");
    const reachedBy = async (list: string[]) => {
      array.fill(0);
      await run(list as unknown as Buffer);
      return array.map((count) => Math.min(count, 1)).join();
    };
    expect(await reachedBy([])).not.toBe(await reachedBy(["a"]));
    expect(await reachedBy(["a"])).toBe(await reachedBy(["b"]));
    expect(words).toEqual(expect.arrayContaining(["many", "ab", "fg", "p\x11\x01\x00".slice(0, 3).concat("\x00")]));
  });
});

describe("a target in its thread", () => {
  const targetOf = async (name: string, body: string) => {
    const entry = join(folder, `${name}.ts`);
    writeFileSync(entry, `export function run(data: Uint8Array): void { ${body} }`);
    const made = await bundled(entry, folder, name);
    return { ...made, seeds: [Buffer.from("ok")], maxBytes: 64, seed: 1 };
  };

  it("that goes wrong comes with the shortest input that does", async () => {
    const target = await targetOf("wrong", `if (data[0] === 0x7b && data.length > 1) throw new TypeError("brace");`);
    const found = await searched({ ...target, minutes: 2 });
    expect(found).toMatchObject({ kind: "failed", reason: expect.stringContaining("brace") });
    expect(found.kind === "failed" && Buffer.from(found.input)).toHaveLength(2);
  });

  it("that hangs is ended, with the input at hand", async () => {
    const target = await targetOf("hangs", `for (let turns = 0; data[0] === 0x7b; turns++);`);
    const found = await searched({ ...target, minutes: 2, hangMs: 1000 });
    expect(found).toMatchObject({ kind: "failed", reason: expect.stringContaining("longer than") });
    expect(found.kind === "failed" && found.input[0]).toBe(0x7b);
  });

  it("that does neither ends with its time", async () => {
    const target = await targetOf("fine", `if (data.length > 40) data.fill(0);`);
    const found = await searched({ ...target, minutes: 0.005 });
    expect(found).toMatchObject({ kind: "done" });
    expect(found.executions).toBeGreaterThan(10);
  });
});
