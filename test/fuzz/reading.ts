/** What holds for every file of settings that is read. */
import type { ReadFile } from "../../src/config/index.js";

export function checkReading({ value, faults }: ReadFile<unknown>): void {
  if ((value === null) !== faults.length > 0) throw new Error("a value and faults, or neither");
  for (const { line, column, message } of faults) {
    if (!(line >= 1 && column >= 1)) throw new Error(`a fault at ${line}:${column}`);
    if (message === "") throw new Error("a fault without words");
  }
}
