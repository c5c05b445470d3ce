import { expect, it } from "vitest";
import { KeptOutputs } from "./kept-outputs.js";

it("outputs are kept as long as there is room, the newest longest", () => {
  const outputs = new KeptOutputs();
  const first = outputs.keep(Buffer.alloc(30 << 20), "one");
  const second = outputs.keep(Buffer.alloc(30 << 20), "two");
  expect(outputs.get(first).bytes).toHaveLength(30 << 20);
  const third = outputs.keep(Buffer.alloc(30 << 20), "three");
  expect(() => outputs.get(first)).toThrow(/not kept/);
  expect(outputs.list().map(({ uri }) => uri)).toEqual([second, third]);
  outputs.clear();
  expect(outputs.list()).toEqual([]);
});
