import { expect, it } from "vitest";
import { OutputBudget } from "../../api/limits/output-budget.js";
import { KeptOutputs } from "./kept-outputs.js";

const keptWithin = (outputBytes: number) => {
  const budget = new OutputBudget({ outputBytes, callerOutputBytes: outputBytes });
  return { budget, outputs: new KeptOutputs(() => budget.open("a")) };
};

it("outputs are kept as long as there is room, the newest longest", () => {
  const { outputs } = keptWithin(1 << 30);
  const first = outputs.keep(Buffer.alloc(30 << 20), "one") ?? "";
  const second = outputs.keep(Buffer.alloc(30 << 20), "two");
  expect(outputs.get(first).bytes).toHaveLength(30 << 20);
  const third = outputs.keep(Buffer.alloc(30 << 20), "three");
  expect(() => outputs.get(first)).toThrow(/not kept/);
  expect(outputs.list().map(({ uri }) => uri)).toEqual([second, third]);
  outputs.clear();
  expect(outputs.list()).toEqual([]);
});

it("outputs are kept within the memory that all callers share, and give it back", () => {
  const { budget, outputs } = keptWithin(100);
  expect(outputs.keep(Buffer.alloc(101), "too long")).toBeNull();
  outputs.keep(Buffer.alloc(60), "one");
  const second = outputs.keep(Buffer.alloc(60), "two");
  expect(outputs.list().map(({ uri }) => uri)).toEqual([second]);
  expect(budget.heldBytes).toBe(60);
  outputs.clear();
  expect(budget.heldBytes).toBe(0);
});
